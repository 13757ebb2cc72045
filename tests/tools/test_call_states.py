"""What is known of calls, by what was written of them."""

import time
import tracemalloc
from typing import Any

import msgspec
import pytest

from tokenmill.tools.call import Call, Stage, Written
from tokenmill.tools.call_states import CallStates
from tokenmill.tools.pending_approvals import AskedCall

KEEP_MS = 1_000

ENDED_BYTES = 400
"""What docs/topics/operations.md says that a call that is done takes."""


def call(number: int = 0, **more: Any) -> Call:
    fields: dict[str, Any] = {"name": "weather__note", "arguments": {"n": number}, "time": 5} | more
    return Call("c", "m", 0, 1, f"call_{number}", **fields)


def rewritten(states: CallStates, *steps: tuple[Call, Stage, int]) -> CallStates:
    """States that have read what these wrote."""
    other = CallStates(KEEP_MS)
    for offset, (each, stage, now) in enumerate(steps):
        other.read(each.key, states.write(each, stage, now), offset)
        states.placed(each.key, offset)
    return other


def test_who_reads_what_was_written_knows_the_same() -> None:
    """Each call at its latest stage, in the order of those; the ones that are done without what they were."""
    one, two, three = call(1), call(2), call(3)
    steps: list[tuple[Call, Stage, int]] = [
        (one, "waiting", 10),
        (two, "running", 11),
        (one, "running", 12),
        (three, "waiting", 13),
        (two, "done", 14),
    ]
    states = CallStates(KEEP_MS)
    for known in (rewritten(states, *steps), states):
        assert [each for each, _ in known.at("waiting")] == [three]
        assert [each for each, _ in known.at("running")] == [one]
        assert known.at("done") == []
        assert all(each.key in known for each in (one, two, three))
        assert call(4).key not in known
        assert known.first_needed(20) == 2


def test_what_was_asked_is_known_to_who_takes_over() -> None:
    """And is gone when the call is done."""
    one = call(1)
    states, other = CallStates(KEEP_MS), CallStates(KEEP_MS)
    other.read(one.key, states.write(one, "asking", 5, AskedCall(one, "f", 77)), 0)
    ((_, written),) = other.at("asking")
    assert (written.fingerprint, written.until) == ("f", 77)
    other.read(one.key, states.write(one, "done", 6), 1)
    assert other.at("asking") == []


def test_calls_of_an_answer_are_counted() -> None:
    """Each once, at whatever stage; another message's are others, and so are those of another use of its id."""
    states = rewritten(CallStates(KEEP_MS), (call(1), "running", 0), (call(2), "waiting", 1), (call(1), "done", 2))
    assert states.calls_beside(call(3)) == 2
    assert states.calls_beside(msgspec.structs.replace(call(3), opened=2)) == 0
    assert states.calls_beside(msgspec.structs.replace(call(3), message="n")) == 0
    states.first_needed(2 + KEEP_MS)
    states.read(call(2).key, None, 9)
    states.first_needed(2 + KEEP_MS)
    assert states.calls_beside(call(3)) == 0
    assert not states._answers, "answers of which nothing is known any more take no room"


def test_what_is_done_is_forgotten_when_it_can_not_come_again() -> None:
    """What runs is not, however long it does; what lies behind it is still read."""
    one, two, three = call(1), call(2), call(3)
    states = rewritten(CallStates(KEEP_MS), (one, "done", 0), (two, "running", 1), (three, "done", 2))
    assert states.first_needed(KEEP_MS - 1) == 0
    assert states.first_needed(KEEP_MS) == 1
    assert one.key not in states
    assert states.first_needed(10 * KEEP_MS) == 1
    states.read(two.key, None, 3)
    assert states.first_needed(10 * KEEP_MS) == 4
    assert three.key not in states


def test_where_nothing_is_needed_reading_begins_behind_the_last_record() -> None:
    """Acknowledgements of several partitions' records come in any order."""
    one, two, states = call(1), call(2), CallStates(KEEP_MS)
    for each, offset in ((one, 8), (two, 5)):
        states.write(each, "done", 0)
        states.placed(each.key, offset)
    assert states.first_needed(KEEP_MS) == 9


def test_a_call_that_is_done_takes_little_memory() -> None:
    """Whatever its ids and arguments are: it is kept for hours."""
    states, count = CallStates(KEEP_MS), 10_000
    tracemalloc.start()
    try:
        for number in range(count):
            ended = Call(f"{number}" * 40, f"{number}" * 40, 0, number, "call", "weather__note", {"n": number}, 5)
            states.expect(ended, number)
            states.write(ended, "done", 10**12 + number)
            states.placed(ended.key, 10**9 + number)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken / count < ENDED_BYTES


def forgetting_s(count: int) -> float:
    """Processor time for each of so many calls that are done, and are forgotten together."""
    states, written = CallStates(KEEP_MS), msgspec.json.encode(Written("done", 0, None))
    for number in range(count):
        states.read(call(number).key, written, number)
    began = time.process_time()
    assert states.first_needed(KEEP_MS + 1) == count
    return (time.process_time() - began) / count


def test_many_calls_are_forgotten_together_at_the_price_of_a_few() -> None:
    """A night after the calls of a day: a runner that looks for the oldest among all of them each time stands still."""
    few = min(forgetting_s(2_000) for _ in range(3))
    assert forgetting_s(50_000) < 4 * few


def test_what_is_being_written_lies_behind_what_was() -> None:
    """Its offset is not known before it is acknowledged."""
    states = rewritten(CallStates(KEEP_MS), (call(1), "done", 0))
    states.write(call(2), "waiting", 5_000)
    assert states.first_needed(5_000) == 1


def test_what_is_none_of_ours_is_passed_over() -> None:
    """Somebody else wrote it, or it takes a call back."""
    states = CallStates(KEEP_MS)
    for offset, value in enumerate([None, b"", b"[]", b"{}", b'{"stage":"lost","time":1}']):
        states.read(b"key", value, offset)
        assert b"key" not in states
    states.read(b"key", msgspec.json.encode(Written("done", 1)), 9)
    assert b"key" in states


def test_the_calls_of_an_answer_that_are_not_done_are_known() -> None:
    """Those of another choice are another's."""
    one, two, three, other = call(1), call(2), call(3), msgspec.structs.replace(call(4), choice=1)
    states = CallStates(KEEP_MS)
    for each in (one, two, other):
        states.write(each, "running", 5)
    states.write(one, "done", 6)
    states.expect(three, 7)
    assert states.unfinished(one.answer) == [two, three]
    assert states.unfinished(call(5, time=9).answer) == states.unfinished(one.answer)
    assert states.unfinished(b"nobody's") == []


@pytest.mark.parametrize("value", [b'"\xff"', b"[" * 5_000 + b"]" * 5_000], ids=["no text", "bottomless"])
def test_a_record_that_is_no_text_or_bottomless_is_passed_over(value: bytes) -> None:
    """As its value, and as its key."""
    states = CallStates(KEEP_MS)
    states.read(call().key, b'{"stage":"done","time":1,"fingerprint":"f","call":%b}' % value, 0)
    assert call().key not in states
    states.read(b"[%b]" % value, msgspec.json.encode(Written("done", 1)), 1)
    assert states.first_needed(5_000) == 2


@pytest.mark.parametrize("stage", ["waiting", "asking", "running"])
def test_a_record_under_another_key_than_its_calls_holds_up_nothing(stage: Stage) -> None:
    """Nobody would write its end: it would be run again by each owner, and all after it read again."""
    foreign = [
        (b"[1]", Written(stage, 5, call(1))),
        (call(2).key, Written(stage, 5, call(1))),
        (call(1).key, Written(stage, 5, None)),
    ]
    records = [(key, msgspec.json.encode(written)) for key, written in foreign]
    half = call(3).key.replace(b"call_3", b"\\ud83d")
    records.append((half, msgspec.json.encode(Written(stage, 5, call(3))).replace(b"call_3", b"\\ud83d")))
    states = CallStates(KEEP_MS)
    for offset, (key, value) in enumerate(records):
        states.read(key, value, offset)
    assert states.at(stage) == []
    assert states.first_needed(0) == len(records)
