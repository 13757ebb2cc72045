"""A conversation as it is on Kafka, without Kafka: records in, lines out."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from tokenmill.inspector import live
from tokenmill.inspector.lines import Line, Opened, Piece, Published, Rejected, Repeated, Unread
from tokenmill.inspector.live import EARLY_S, Watch, WatchedPartition
from tokenmill.inspector.live_log import _began
from tokenmill.limits import ENDED_OFFSETS
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output, header

SETTINGS = PartitionSettings(outputs=(OutputSpec("events"), OutputSpec("others", "openai")), dlq="dlq")

CALL = '<tool_call>\n{"name":"f","arguments":{"a":1}}\n</tool_call>'

CHUNKS: list[dict[str, Any]] = [
    {"message_id": "m", "open": {"format": "hermes"}, "delta": "Let "},
    {"message_id": "m", "delta": f"me see. {CALL[:20]}"},
    {"message_id": "m", "delta": CALL[20:]},
    {"message_id": "m", "finish_reason": "stop"},
]


def tokens(*chunks: dict[str, Any], first: int = 0) -> list[InputRecord]:
    """Records of a conversation."""
    return [
        InputRecord("tokens", 0, first + number, 1_000 + number, b"c", msgspec.json.encode(chunk))
        for number, chunk in enumerate(chunks)
    ]


def published(records: Iterable[InputRecord]) -> list[InputRecord]:
    """What a worker makes of them, as it is in the log."""
    partition, out = Partition(SETTINGS, "tokens", 0), list[Output]()
    partition.process(records, out)
    events = [output for output in out if output.topic == "events"]
    return [
        InputRecord("events", 0, offset, output.timestamp, output.key, output.value, list(output.headers))
        for offset, output in enumerate(events)
    ]


def watch() -> Watch:
    """Of nothing yet."""
    return Watch(SETTINGS, ("tokens", "events"), 0)


def told(lines: Iterable[Line], kind: type[Line]) -> list[Any]:
    """The lines of a kind."""
    return [line for line in lines if isinstance(line, kind)]


def read(into: Watch, records: Iterable[InputRecord]) -> list[Line]:
    """What the tokens tell."""
    return [line for record in records for line in into.token(record, None)]


def hear(into: Watch, records: Iterable[InputRecord], now: float = 0.0) -> list[Line]:
    """What the events do."""
    return [line for record in records for line in into.event(record, now, now)]


def test_every_event_of_the_worker_s_is_expected_with_its_characters() -> None:
    """Numbers, ids and payloads are the worker's: each one that it publishes is the one that was expected."""
    watching, records = watch(), tokens(*CHUNKS)
    lines = read(watching, records)
    assert told(lines, Opened) == [Opened(0, "m", 0, ["hermes"], 0)]
    steps = [step for piece in told(lines, Piece) for step in piece.steps]
    made = [made for step in steps for made in step.made]
    events = published(records)
    assert [msgspec.json.decode(event.value or b"") for event in events] == [msgspec.to_builtins(m.event) for m in made]
    source = "".join(step.source for step in steps)
    calls = [source[m.start : m.end] for m in made if m.event.type == "tool-call"]
    assert calls == [CALL.removesuffix("\n</tool_call>")]
    heard = hear(watching, events)
    assert [(line.number, line.other) for line in told(heard, Published)] == [(n, None) for n in range(len(made))]
    assert heard == told(heard, Published)


def test_an_event_that_was_published_again_is_told_as_that() -> None:
    """As after a crash of a worker that had not committed."""
    watching, records = watch(), tokens(*CHUNKS)
    read(watching, records)
    events = published(records)
    hear(watching, events)
    assert hear(watching, events[:2]) == [Repeated(0), Repeated(0)]


def test_another_event_than_the_one_that_was_expected_is_told() -> None:
    """An older worker's, or one with other settings."""
    watching, records = watch(), tokens(*CHUNKS)
    read(watching, records)
    first, second, *_ = published(records)
    other = msgspec.structs.replace(second, value=b'{"type":"text-start","id":"other"}')
    assert [line.other for line in told(hear(watching, [first, other]), Published)] == [
        None,
        msgspec.Raw(other.value or b""),
    ]
    third = msgspec.structs.replace(published(records)[2], value=b"\xff")
    assert [line.other for line in told(hear(watching, [third]), Published)] == [msgspec.Raw('"\ufffd"'.encode())]


def test_a_value_with_bytes_that_are_no_text_is_told_as_a_string() -> None:
    """Like all that is no JSON."""
    assert live.readable(b'["\xff"]') == msgspec.Raw('"[\\"\ufffd\\"]"'.encode())


def test_a_value_of_several_lines_is_told_on_one() -> None:
    """Each line of what a page is told stands for itself."""
    assert live.readable(b'{\n"a":\r\n1}') == msgspec.Raw(b'{ "a":  1}')


@pytest.mark.parametrize("name", ["tm-seq", "tm-choice", "tm-opened"])
def test_an_event_with_a_number_that_no_worker_writes_ends_nothing(name: str) -> None:
    """Python reads no number of so many digits; what comes behind it is told as ever."""
    watching, records = watch(), tokens(*CHUNKS)
    read(watching, records)
    first, *others = published(records)
    foreign = msgspec.structs.replace(first, headers=[("tm-message-id", b"m"), (name, b"9" * 5_000)])
    assert told(hear(watching, [foreign]), Published) != []
    assert _began(foreign) == foreign.timestamp
    assert len(told(hear(watching, [first, *others]), Published)) == len(others) + 1


def test_an_event_that_comes_before_its_token_waits_for_it() -> None:
    """They are on different topics."""
    watching, records = watch(), tokens(*CHUNKS)
    events = published(records)
    assert hear(watching, events) == []
    lines = read(watching, records)
    assert len(told(lines, Published)) == len(events)


def test_an_event_without_tokens_is_told_after_a_while() -> None:
    """Its message began before what was read, or was lost; the number of its choice is told all the same."""
    watching = watch()
    events = published(tokens(*CHUNKS))
    hear(watching, events, now=10.0)
    assert list(watching.settle(10.0 + EARLY_S)) == []
    lines = list(watching.settle(10.1 + EARLY_S))
    assert told(lines, Opened) == [Opened(0, "m", 0)]
    assert [step.kind for piece in told(lines, Piece) for step in piece.steps] == ["alone"] * len(events)
    assert [line.number for line in told(lines, Published)] == list(range(len(events)))
    assert hear(watching, events) == [Repeated(0)] * len(events)
    late = read(watching, tokens(*CHUNKS))
    assert len(told(late, Published)) == len(events)


def test_the_last_words_of_a_lost_message_are_told() -> None:
    """They have no number; what is no event of ours is put aside."""
    watching = watch()
    read(watching, tokens(*CHUNKS[:2]))
    lost = b'{"type":"error","code":"state-lost","message":"gone"}'
    words = InputRecord("events", 0, 9, 0, b"c", lost, [("tm-message-id", b"m"), ("tm-choice", b"0")])
    lines = hear(watching, [words])
    assert [step.made[0].event.type for piece in told(lines, Piece) for step in piece.steps] == ["error"]
    (rejected,) = hear(watching, [msgspec.structs.replace(words, value=b"{}")])
    assert isinstance(rejected, Rejected)


def test_no_more_events_wait_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are told without their tokens."""
    monkeypatch.setattr(live, "EARLY_KEPT", 1)
    watching, events = watch(), published(tokens(*CHUNKS))
    assert len(told(hear(watching, events), Published)) == len(events) - 1


def test_what_a_worker_puts_aside_is_told_with_its_reason() -> None:
    """The dead letters of the conversation."""
    (line,) = read(watch(), tokens({"message_id": "m", "open": {"formt": "hermes"}, "delta": "x"}))
    assert isinstance(line, Rejected)
    assert "formt" in line.problem


def test_events_that_no_piece_makes_stand_with_the_next_one() -> None:
    """A gap is told where it is; an opening alone is a step of its own."""
    lines = read(
        watch(), tokens({"seq": 0, "open": {}, "message_id": "m"}, {"seq": 5, "delta": "x", "message_id": "m"})
    )
    first, second = told(lines, Piece)
    assert [(step.kind, [made.event.type for made in step.made]) for step in first.steps] == [
        ("record", ["message-start"])
    ]
    assert [made.event.type for made in second.steps[0].made][:1] == ["error"]


def test_a_message_s_id_that_is_used_again_is_another_one() -> None:
    """Events go on counting; a page is told of a new choice."""
    watching, records = watch(), tokens(*CHUNKS, *CHUNKS)
    lines = read(watching, records)
    assert [line.of for line in told(lines, Opened)] == [0, 1]
    heard = hear(watching, published(records))
    assert [line.of for line in told(heard, Published)] == [0] * (len(heard) // 2) + [1] * (len(heard) // 2)


def forgotten() -> tuple[list[InputRecord], list[InputRecord], list[InputRecord], list[InputRecord]]:
    """An id's first use, its use when that is forgotten, and their events, whose numbers are the same."""
    first, second = tokens(*CHUNKS), tokens(*CHUNKS, first=2 * ENDED_OFFSETS)
    second = [msgspec.structs.replace(record, timestamp=record.timestamp + 60_000) for record in second]
    events = published([*first, *second])
    half = len(events) // 2
    numbers = [header(event.headers, "tm-seq") for event in events]
    assert numbers[half:] == numbers[:half]
    return first, second, events[:half], events[half:]


def test_the_events_of_an_id_s_uses_are_told_apart() -> None:
    """Those of the first one may all come after the tokens of the second."""
    watching, (first, second, *events) = watch(), forgotten()
    read(watching, [*first, *second])
    for of, of_use in enumerate(events):
        told_of = [(line.of, line.number, line.other) for line in told(hear(watching, of_use), Published)]
        assert told_of == [(of, number, None) for number in range(len(of_use))]


def test_events_of_an_earlier_use_are_not_taken_for_those_of_a_later_one() -> None:
    """Though nothing else was read of it."""
    watching, (_, second, before, events) = watch(), forgotten()
    hear(watching, before, now=1.0)
    assert len(told(watching.settle(1.1 + EARLY_S), Published)) == len(before)
    assert told(read(watching, second), Published) == []
    assert len(told(hear(watching, events), Published)) == len(events)


def test_events_of_a_later_use_that_come_before_their_tokens_are_no_repeats() -> None:
    """Though their numbers were there before."""
    watching, (first, second, before, later) = watch(), forgotten()
    read(watching, first)
    hear(watching, before)
    assert told(hear(watching, later), Repeated) == []
    assert len(told(read(watching, second), Published)) == len(later)
    assert len(told(hear(watching, later), Repeated)) == len(later)


def middle(*chunks: dict[str, Any]) -> tuple[Watch, list[InputRecord], list[Line]]:
    """A reading of all but the first record, the events of the rest, and what the tokens told."""
    records = tokens(*chunks)
    events = published(records)
    since = [event for event in events if event.timestamp > records[0].timestamp]
    watching = watch()
    return watching, since, read(watching, records[1:])


def test_an_answer_that_is_read_from_its_middle_is_told_as_such() -> None:
    """What was expected of it is a guess; its tokens and its events are told as they are."""
    watching, events, guessed = middle(*CHUNKS)
    assert [made for piece in told(guessed, Piece) for step in piece.steps for made in step.made] != []
    lines = hear(watching, events)
    assert told(lines, Unread) == [Unread(0, "m")]
    assert [step.kind for piece in told(lines, Piece) for step in piece.steps] == ["alone"] * len(events)
    assert [(line.of, line.number) for line in told(lines, Published)] == [(0, n) for n in range(len(events))]
    (more,) = read(watching, tokens({"message_id": "m", "open": {}, "delta": "x"}, first=20)[:1])[:1]
    assert isinstance(more, Opened), "used again, its beginning is read"


def test_what_comes_of_an_answer_s_middle_later_is_told_as_it_came() -> None:
    """With nothing that this reading would make of it."""
    watching, events, _ = middle(*CHUNKS[:2])
    hear(watching, events)
    (piece,) = read(watching, tokens(*CHUNKS)[2:3])
    assert isinstance(piece, Piece)
    (step,) = piece.steps
    assert (step.source, step.made, step.mode) == (CALL[20:], [], "")


def test_the_middle_of_a_message_without_an_id_gets_its_true_one() -> None:
    """The guess was named after another record; its events say its name."""
    watching, events, guessed = middle(*({"delta": text} for text in "abc"))
    assert [line.message for line in told(guessed, Opened)] == ["o0-1"]
    assert told(hear(watching, events), Unread) == [Unread(0, "o0-0")]


def test_an_older_message_s_events_say_nothing_of_a_newer_one() -> None:
    """Only of one whose tokens were taken for its own."""
    watching = watch()
    older, newer = tokens({"message_id": "m", "delta": "x"}, {"message_id": "n", "delta": "y"})
    read(watching, [newer])
    assert told(hear(watching, published([older, newer])), Unread) == []


def test_the_events_of_an_id_s_earlier_use_say_nothing_of_this_one() -> None:
    """They may come late; what was expected of this one stays."""
    watching, records = watch(), tokens(*CHUNKS, *CHUNKS)
    events = published(records)
    read(watching, records[len(CHUNKS) :])
    assert told(hear(watching, events[: len(events) // 2]), Unread) == []


def test_orphans_of_a_message_that_began_earlier_are_not_put_aside() -> None:
    """A worker has read what they follow; where nothing of that kind goes on, it has put them aside, too."""
    orphans = tokens({"message_id": "m", "seq": 3, "delta": "x"}, first=3)
    events = published(tokens(*CHUNKS[:2]))
    for heard, count in ((events, 0), ([], 1)):
        watching = watch()
        assert read(watching, orphans) == []
        hear(watching, heard)
        assert told(watching.settle(0.0), Rejected) == []
        assert len(told(watching.settle(EARLY_S + 0.1), Rejected)) == count


def test_the_parts_of_the_partition_are_the_worker_s() -> None:
    """Looking on changes no output, in any dialect."""
    records, seen, plain = tokens(*CHUNKS), list[Output](), list[Output]()
    watching, worker = WatchedPartition(SETTINGS, "tokens", 0), Partition(SETTINGS, "tokens", 0)
    for record in records:
        seen += watching.read(record)
    worker.process(records, plain)
    assert seen == plain
