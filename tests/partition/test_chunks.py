"""What a chunk does to its message."""

from typing import Any

import msgspec
import pytest

from tests.partition.logs import SETTINGS, events, log, partition, record, run, types
from tokenmill.events import Error, Finish, Part, TextDelta
from tokenmill.limits import CHOICES, DETAIL_BYTES
from tokenmill.partition import Partition
from tokenmill.partition.message import Open


def test_fields_apply_in_the_order_of_the_contract() -> None:
    """Whatever order they stand in."""
    chunk = {
        "end": True,
        "finish_reason": "length",
        "usage": {"n": 1},
        "part": {"kind": "signature", "value": "s"},
        "tool_calls": [{"index": 0, "id": "k", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        "delta": "text",
        "reasoning": "why",
        "error": "overloaded",
        "open": {"format": "hermes"},
    }
    assert types(run(partition(), log(chunk))) == [
        "message-start",
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-end",
        "tool-input-start",
        "tool-input-delta",
        "tool-input-end",
        "tool-call",
        "part",
        "error",
        "finish",
    ]


def test_usage_above_its_cap_is_left_out_and_that_is_said() -> None:
    """It is kept in memory and in snapshots until the end."""
    out = run(partition(), log({"delta": "a", "usage": {"n": "x" * DETAIL_BYTES}}, {"end": True}))
    (error,) = [event for event in events(out) if isinstance(event, Error)]
    (finish,) = [event for event in events(out) if isinstance(event, Finish)]
    assert (error.code, finish.usage) == ("limit", msgspec.UNSET)


def test_a_finish_reason_is_kept_up_to_its_cap() -> None:
    """It is kept in memory and in snapshots until the end, too."""
    long = "x" * (DETAIL_BYTES + 1)
    state = partition(
        {"message_id": "m", "delta": "a", "finish_reason": long, "stop_sequence": long, "end": False},
    )
    message = state._messages.find(b"c", "m")
    assert message is not None
    choice = message.choice(0)
    assert choice is not None
    assert isinstance(choice.state, Open)
    assert choice.state.reason == choice.state.stop_sequence == "x" * DETAIL_BYTES


def test_a_stop_sequence_is_of_the_reason_that_it_came_with() -> None:
    """The last reason counts, and the end may be another chunk's."""
    first = {"message_id": "m", "delta": "a", "finish_reason": "stop", "stop_sequence": "END", "end": False}
    end = {"message_id": "m", "end": True}
    again = {"message_id": "m", "finish_reason": "stop", "end": False}
    finishes = [
        event
        for chunks in ([first, end], [first, again, end], [first, {"message_id": "m", "control": "cancel"}])
        for event in events(run(partition(), log(*chunks)))
        if isinstance(event, Finish)
    ]
    assert [finish.stop_sequence for finish in finishes] == ["END", msgspec.UNSET, msgspec.UNSET]


def test_a_late_chunk_moves_the_start_of_replays() -> None:
    """A replay that starts after the message's end would take the late chunk for a new message."""
    state = partition(
        {"message_id": "m", "delta": "a"},
        {"message_id": "m", "control": "cancel"},
        {"message_id": "other", "seq": 0},
        {"message_id": "m", "delta": "late"},
    )
    run(state, log({"message_id": "x", "usage": {}}, start=150))
    assert state.mark().low_water == 0
    run(state, log({"message_id": "other", "end": True}, {"message_id": "other2", "seq": 0}, start=151))
    run(state, log({"message_id": "x", "usage": {}}, start=400))
    assert state.mark().low_water == 152


@pytest.mark.parametrize("last", [{"message_id": "m", "seq": 2}, {"message_id": "m", "end": True}])
def test_late_chunks_that_would_open_nothing_do_not(last: dict[str, object]) -> None:
    """Most producers number their chunks; those cost nothing."""
    state = partition(
        {"message_id": "m", "seq": 0}, {"message_id": "m", "seq": 1, "end": True}, {"message_id": "n", "seq": 0}, last
    )
    run(state, log({"message_id": "x", "usage": {}}, start=150))
    assert state.mark().low_water == 2


def test_an_end_by_the_given_id_moves_the_start_of_replays() -> None:
    """Only a replay that includes the first record has the id."""
    state = partition({"delta": "a"}, {"message_id": "n", "seq": 0}, {"message_id": "o0-0", "control": "cancel"})
    run(state, log({"message_id": "x", "usage": {}}, start=150))
    assert state.mark().low_water == 0


def test_events_have_the_time_of_their_record() -> None:
    """P3: no clock is read."""
    out = run(partition(), log({"delta": "a"}, {"delta": "b"}))
    assert [event.time for event in events(out)] == [1_000, 1_000, 1_000, 1_001]
    assert [output.timestamp for output in out] == [1_000, 1_000, 1_000, 1_001]


def test_positions_of_events_are_contiguous_for_each_choice() -> None:
    """P1: from 0, through chunks, gaps and the end."""
    chunks = [
        {"message_id": "m", "choice": choice, "seq": seq, "delta": "a", "end": seq == 5}
        for seq in (0, 1, 3, 5)
        for choice in (0, 1)
    ]
    out = events(run(partition(), log(*chunks)))
    for choice in (0, 1):
        seqs = [event.seq for event in out if event.choice == choice]
        assert seqs == list(range(len(seqs)))


def choices(*numbers: int, **more: Any) -> list[dict[str, Any]]:
    """Chunks that open choices of a message, each with options of its own."""
    return [{"message_id": "m", "choice": number, "open": {}, "delta": "a", **more} for number in numbers]


def test_a_message_has_no_more_choices_than_any_provider_gives() -> None:
    """One more is a dead letter, whatever its number; those that are there go on, begin again and end."""
    state = partition(*choices(*range(1, CHOICES), 2**53))
    start = CHOICES
    refused = run(state, log(*choices(0, 500), {"message_id": "m", "choice": 500, "end": True}, start=start))
    assert [(each.topic, dict(each.headers)["tm-error-code"]) for each in refused] == [("dlq", b"undecodable")] * 2
    assert types(run(state, log(*choices(2**53, end=True), start=start + 3)))[-1] == "finish"
    assert types(run(state, log(*choices(2**53), start=start + 4)))[0] == "message-start"
    assert state.open_messages == CHOICES
    assert types(run(state, log({"message_id": "m", "control": "cancel"}, start=start + 5))).count("finish") == CHOICES
    assert types(run(state, log(*choices(0, message_id="n"), start=start + 6)))[0] == "message-start"


def test_a_choice_that_was_one_too_many_stays_out_in_a_replay() -> None:
    """Those that were there then may be forgotten: no replay begins where it would not know of all of them."""
    records = log(*choices(*range(CHOICES + 1)))
    records += log(*({"message_id": "m", "choice": choice, "end": True} for choice in range(5)), start=len(records))
    records += [record(offset, {"message_id": "n", "delta": "b"}) for offset in range(len(records), 2 * len(records))]
    state = Partition(SETTINGS, "tokens", 0)
    run(state, records)
    mark = state.mark()
    assert (mark.low_water, state.open_messages) == (0, CHOICES - 5 + 1)
    again = Partition(SETTINGS, "tokens", 0, mark.low_water)
    again.begin_replay(mark, lossy=False)
    run(again, records)
    assert again.end_replay([]).agrees


def test_a_part_of_the_provider_comes_out_as_it_is() -> None:
    """With its id, if it has one."""
    chunk = {"part": {"kind": "citation", "value": {"url": "x", "n": [1, None]}, "id": "p"}}
    (part,) = [event for event in events(run(partition(), log(chunk))) if isinstance(event, Part)]
    assert (part.kind, part.value, part.id) == ("citation", {"url": "x", "n": [1, None]}, "p")


def test_text_and_native_records_reach_the_same_message() -> None:
    """The codec is a matter of the record, not of the message."""
    state = Partition(partition().settings, "tokens", 0)
    out = run(
        state,
        [
            record(0, b"a\xc3", tm_codec="text", tm_message_id="m"),
            record(1, {"message_id": "m", "delta": "b"}),
            record(2, b"\xa9", tm_codec="text", tm_message_id="m"),
        ],
    )
    assert [event.delta for event in events(out) if isinstance(event, TextDelta)] == ["a", "b", "é"]
