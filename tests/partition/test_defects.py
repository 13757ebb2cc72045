"""A record that a part of the program fails on stops nobody, and no message but its own."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.partition.logs import events, log, record, run, types
from tests.support.restoring import restore
from tokenmill.codecs import Chunk
from tokenmill.dialects import DIALECTS, Dialect, Envelope
from tokenmill.events import AnyEvent, Error, Event, TextDelta
from tokenmill.parser import MessageParser
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.partition.defects import defect
from tokenmill.partition.message import Choice
from tokenmill.partition.opening import parser_of
from tokenmill.records import InputRecord, Output, Record

SETTINGS = PartitionSettings(outputs=(OutputSpec("events"), OutputSpec("other", "fragile")), dlq="dlq")

SECRET = "what a user said"


@pytest.fixture(autouse=True)
def sound() -> None:
    """Everything fails here."""


class Fragile(Dialect):
    """A dialect that fails on events of some kinds, by an error that quotes them."""

    name, summary = "fragile", ""

    def __init__(self) -> None:
        self.error: type[BaseException] = ZeroDivisionError
        self.kinds: tuple[type[Event], ...] = ()
        self.answers: dict[type[Event], Any] = {}

    def encode(self, _state: object, _envelope: Envelope, event: Event, _seq: int | None, _time: int) -> list[bytes]:
        """The kind of each event."""
        if isinstance(event, self.kinds):
            raise self.error(SECRET)
        return self.answers[type(event)] if type(event) in self.answers else [event.type.encode()]


@pytest.fixture(autouse=True)
def fragile(monkeypatch: pytest.MonkeyPatch) -> Fragile:
    """The dialect, known by its name."""
    dialect = Fragile()

    def find(name: str) -> Dialect | Fragile | None:
        return dialect if name == "fragile" else DIALECTS.find(name)

    for module in ("outputs", "rebuild", "settings"):
        monkeypatch.setattr(f"tokenmill.partition.{module}.find_dialect", find)
    return dialect


class Broken:
    """A parser that fails on one text."""

    error: type[BaseException] = ZeroDivisionError

    def __init__(self, choice: Choice) -> None:
        self._parser = parser_of(choice)

    def feed(self, text: str) -> Sequence[Event]:
        """What the parser makes of all others."""
        if "boom" in text:
            raise self.error(SECRET)
        return self._parser.feed(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)


def fresh(offset: int = 0) -> Partition:
    """A partition that has read nothing, whose parsers fail on a text."""
    state = Partition(SETTINGS, "tokens", 0, offset)
    state._chunks.parser_of = Broken  # type: ignore[assignment] # -- it does what a parser does
    return state


def of(out: list[Output], topic: str) -> list[Output]:
    """What went to a topic."""
    return [output for output in out if output.topic == topic]


def told(said: Sequence[AnyEvent]) -> list[tuple[object, ...]]:
    """For each event its choice, type, error code or reason, and whether it has a number."""
    return [
        (event.choice, event.type, getattr(event, "code", getattr(event, "reason", "")), event.seq is not msgspec.UNSET)
        for event in said
    ]


LOST = [(0, "error", "internal", False), (0, "finish", "error", False)]

FIRST: list[dict[str, Any]] = [
    {"message_id": "m", "seq": 0, "delta": "a"},
    {"message_id": "n", "seq": 0, "delta": "a"},
]


@pytest.mark.parametrize(
    "broken",
    [
        {"message_id": "m", "seq": 1, "delta": "boom"},
        {"message_id": "m", "seq": 1, "delta": "boom", "finish_reason": "stop"},
        {"message_id": "m", "seq": 1, "delta": "boom", "end": True},
        {"message_id": "new", "seq": 0, "delta": "boom"},
        {"seq": 0, "delta": "boom"},
    ],
)
def test_its_message_is_lost_and_all_others_go_on(broken: dict[str, Any]) -> None:
    """On the short path and on the long one, in its middle, at its beginning and at its end."""
    state = fresh()
    run(state, log(*FIRST))
    rest = [broken, broken | {"seq": 2, "delta": "b"}, {"message_id": "n", "seq": 1, "delta": "b"}]
    out = run(state, log(*rest, start=2))
    (letter,) = of(out, "dlq")
    assert (dict(letter.headers)["tm-error-code"], letter.value) == (b"internal", record(2, broken).value)
    *said, last = events(out)
    assert told(said)[-2:] == LOST
    assert (last.message_id, last.type) == ("n", "text-delta")
    assert [output.value for output in of(out, "other")][-3:] == [b"error", b"finish", b"text-delta"]
    tally = state.drain()
    late = "late" if "end" in broken or "finish_reason" in broken else "lost"
    assert (dict(tally.dropped), dict(tally.dead_letters), len(tally.failed)) == ({late: 1}, {"internal": 1}, 1)


def test_each_choice_of_the_message_ends() -> None:
    """Which of them the failure left whole nobody knows."""
    state = fresh()
    run(state, log(*FIRST, {"message_id": "m", "choice": 1, "delta": "a"}))
    out = run(state, log({"message_id": "m", "choice": 1, "delta": "boom"}, start=3))
    assert told(events(out)) == [*LOST, *((1, *what[1:]) for what in LOST)]


def test_what_is_lost_ends_by_an_idle_timeout() -> None:
    """It holds the low-water mark no longer than any other message, and nothing is announced twice."""
    state = fresh()
    run(state, log(FIRST[0], {"message_id": "m", "seq": 1, "delta": "boom"}))
    state.mark()
    (control,) = state.longest_idle(1)
    out = run(state, [InputRecord("tokens", 0, 2, 1_002, control.key, control.value, list(control.headers))])
    assert (out, state.open_messages) == ([], 0)


@pytest.mark.parametrize(
    "broken",
    [
        [{"delta": "boom", "end": True}],
        [{"delta": "boom", "finish_reason": "stop"}],
        [{"delta": "boom"}, {"end": True}],
        [{"delta": "boom"}, {"control": "cancel"}],
        [{"delta": "boom", "control": "cancel"}],
    ],
)
def test_the_next_message_of_the_conversation_begins_as_ever(broken: list[dict[str, Any]]) -> None:
    """Where messages have no ids: what the failed record ends has ended, or it would swallow the next one."""
    state = fresh()
    run(state, log({"delta": "a"}, *broken))
    out = run(state, log({"seq": 0, "delta": "b"}, {"seq": 1, "delta": "c", "end": True}, start=5))
    assert types(out) == ["message-start", "text-start", "text-delta", "text-delta", "text-end", "finish"]
    assert state.open_messages == 0


def test_a_record_of_several_chunks_ends_what_its_last_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it fails on the first."""

    class Both:
        name, summary, sample = "both", "", ()

        def decode(self, _state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
            return b"", [Chunk(delta=(record.value or b"").decode()), Chunk(message_id="x", end=True), Chunk(end=True)]

    monkeypatch.setattr("tokenmill.partition.intake.find_codec", lambda _name: Both())
    state = fresh()
    run(state, [record(0, b"boom")])
    assert state.open_messages == 0


def test_a_message_that_another_follows_fails_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """`seq` 0 with `open` ends the unnamed one before: the next is not opened, and its chunks are orphans."""
    state = fresh()
    run(state, log({"seq": 0, "open": {}, "delta": "a"}))
    with monkeypatch.context() as patch:
        patch.setattr(MessageParser, "finish", failing)
        out = run(state, log({"seq": 0, "open": {}, "delta": "b"}, start=1))
    assert told(events(out)) == LOST
    rest = run(state, log({"seq": 1, "delta": "c"}, start=2))
    assert [dict(letter.headers)["tm-error-code"] for letter in of(rest, "dlq")] == [b"orphan"]


def failing(*_: object) -> None:
    """Of a parser."""
    raise ZeroDivisionError


@pytest.mark.parametrize("odd", [["m"], {"m": 1}, 5])
def test_a_codec_that_names_a_message_oddly(monkeypatch: pytest.MonkeyPatch, odd: Any) -> None:
    """Its result is no better and no worse than a dead letter."""

    class Odd:
        name, summary, sample = "odd", "", ()

        def decode(self, _state: bytes, _record: Record) -> tuple[bytes, Sequence[Chunk]]:
            return b"", [Chunk(message_id=odd, delta="a")]

    monkeypatch.setattr("tokenmill.partition.intake.find_codec", lambda _name: Odd())
    state = fresh()
    out = run(state, [record(0, b"x")])
    assert [dict(letter.headers)["tm-error-code"] for letter in of(out, "dlq")] == [b"internal"]
    assert state.offset == 1


@pytest.mark.parametrize("answer", [None, "text", ["text"], [None], 5])
@pytest.mark.parametrize("alone", [True, False])
def test_a_dialect_that_answers_what_is_no_payload_fails(fragile: Fragile, answer: Any, alone: bool) -> None:
    """As if it had raised: the message continues, and a replay has the same state."""
    fragile.answers[TextDelta] = answer
    outputs = SETTINGS.outputs[1:] if alone else SETTINGS.outputs
    settings = msgspec.structs.replace(SETTINGS, outputs=outputs)
    state, again = Partition(settings, "tokens", 0), Partition(settings, "tokens", 0)
    records = log({"delta": "a"}, {"delta": "b"})
    out = run(state, records)
    assert [output.value for output in of(out, "other")] == [b"message-start", b"text-start", b"error", b"error"]
    again.begin_replay(state.mark(), lossy=False)
    run(again, records)
    assert again.end_replay([]).agrees


def test_payloads_may_come_from_a_generator(fragile: Fragile) -> None:
    """They are a sequence, and what is as good as one is none that fails."""
    fragile.answers[TextDelta] = (payload for payload in (b"one", b"two"))
    state = Partition(SETTINGS, "tokens", 0)
    out = run(state, log({"delta": "a"}))
    assert [output.value for output in of(out, "other")][-2:] == [b"one", b"two"]


def test_a_replay_and_a_snapshot_give_the_same_state(fragile: Fragile) -> None:
    """The failure is a function of state and record, as everything else is (P3)."""
    fragile.kinds = (TextDelta,)
    records = log(*FIRST, {"message_id": "m", "seq": 1, "delta": "boom"}, {"message_id": "n", "seq": 1, "delta": "b"})
    live = fresh()
    run(live, records)
    mark, snapshot = live.mark(), live.changes(full=True)
    replayed = fresh(mark.low_water)
    replayed.begin_replay(mark, lossy=False)
    run(replayed, records)
    announced: list[Output] = []
    assert replayed.end_replay(announced).agrees
    assert announced == []
    restored = restore(SETTINGS, "tokens", 0, mark, (snapshot.meta, snapshot.changed))
    rest = log({"message_id": "m", "seq": 2, "delta": "c"}, {"message_id": "n", "seq": 2, "delta": "c"}, start=4)
    assert run(replayed, rest) == run(restored, rest) == run(live, rest) != []


def test_the_reason_quotes_nothing() -> None:
    """It names the line of code, and is the same each time; the error's own text may be of the record."""
    (letter,) = of(run(fresh(), log({"delta": "boom"})), "dlq")
    reason = dict(letter.headers)["tm-error"].decode()
    assert "ZeroDivisionError in Broken.feed, test_defects.py:" in reason
    assert SECRET not in reason


@pytest.mark.parametrize("outputs", [SETTINGS.outputs, (OutputSpec("other", "fragile"),)])
def test_a_dialect_that_fails_writes_an_error_in_the_place_of_the_event(
    fragile: Fragile, outputs: tuple[OutputSpec, ...]
) -> None:
    """With the event's number; other outputs have the event, and the message continues."""
    fragile.kinds = (TextDelta,)
    state = Partition(msgspec.structs.replace(SETTINGS, outputs=outputs), "tokens", 0)
    out = run(state, log({"delta": "a"}, {"delta": "b", "end": True}))
    assert [output.value for output in of(out, "other")] == [
        *(b"message-start", b"text-start", b"error", b"error", b"text-end", b"finish")
    ]
    assert [dict(output.headers)["tm-seq"] for output in of(out, "other")] == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert [event.type for event in events(out)].count("text-delta") == (2 if len(outputs) > 1 else 0)
    tally = state.drain()
    assert (dict(tally.parse_errors), dict(tally.dead_letters)) == ({("plain", "internal", "internal"): 2}, {})
    assert tally.failed[0].startswith("a mistake in tokenmill, or in a plug-in: ZeroDivisionError in Fragile.encode, ")


@pytest.mark.parametrize(
    ("kinds", "asked"), [((TextDelta, Error), None), ((TextDelta,), frozenset({"text-delta", "finish"}))]
)
def test_where_there_is_no_place_for_an_error(
    fragile: Fragile, kinds: tuple[type[Event], ...], asked: frozenset[str] | None
) -> None:
    """A dialect that fails on errors, too, or an output that has none: nothing is written, but the log has it."""
    fragile.kinds = kinds
    spec = OutputSpec("other", "fragile", events=asked)
    state = Partition(msgspec.structs.replace(SETTINGS, outputs=(spec,)), "tokens", 0)
    out = run(state, log({"delta": "a", "end": True}))
    assert b"error" not in [output.value for output in out]
    assert out[-1].value == b"finish"
    assert state.drain().failed != []


def test_a_codec_that_fails_has_not_read_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it remembers stays as it was, and its messages go on."""

    class Odd:
        name, summary, sample = "odd", "", ()

        def decode(self, _state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
            return b"s", [Chunk(message_id="m", delta="abc"[int(record.value or b"")])]

    monkeypatch.setattr("tokenmill.partition.intake.find_codec", lambda _name: Odd())
    state = fresh()
    out = run(state, [record(0, b"0"), record(1, b"7"), record(2, b"1")])
    assert types(out) == ["message-start", "text-start", "text-delta", "text-delta"]
    assert [dict(letter.headers)["tm-error-code"] for letter in of(out, "dlq")] == [b"internal"]
    assert state.open_streams == 1
    assert len(state.drain().failed) == 1


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("start", [0, 1])
def test_what_is_not_about_the_record_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, fragile: Fragile, error: type[BaseException], start: int
) -> None:
    """The next start may have the memory."""
    monkeypatch.setattr(Broken, "error", error)
    fragile.error, fragile.kinds = error, (TextDelta,)
    for text in ("boom", "a"):  # a parser's and a dialect's
        state = fresh()
        run(state, log({"message_id": "m", "seq": 0, "reasoning": "a"})[:start])
        with pytest.raises(error):
            run(state, log({"message_id": "m", "seq": start, "delta": text}, start=start))


def test_an_error_that_was_never_raised() -> None:
    """It has a kind, and no line."""
    assert str(defect(KeyError("x"))) == "a mistake in tokenmill, or in a plug-in: KeyError"
