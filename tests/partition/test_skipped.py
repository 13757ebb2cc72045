"""An offset that was set by hand: messages with skipped events are lost and announced, all others continue."""

import random
from itertools import islice

import msgspec
import pytest

from tests.partition.logs import SETTINGS, events, log, record, run
from tests.support.conversations import interleaved
from tests.support.restoring import restore
from tokenmill.events import Error, Finish
from tokenmill.partition import Mark, Move, Moved, Partition, Published, ReplayEnd
from tokenmill.partition.skipped import Span
from tokenmill.records import InputRecord, Output, header

TALK = log(
    {"message_id": "quiet", "delta": "1"},
    {"message_id": "touched", "delta": "1"},
    {"message_id": "ended", "delta": "1"},
    {"message_id": "touched", "delta": "2"},
    {"message_id": "ended", "end": True},
    {"message_id": "whole", "delta": "1", "end": True},
    {"message_id": "begun", "delta": "1"},
    {"message_id": "quiet", "delta": "2"},
    {"message_id": "touched", "delta": "3"},
    {"message_id": "begun", "delta": "2"},
    {"message_id": "new", "delta": "1"},
)

DONE, UNTIL = 3, 7


def published(records: list[InputRecord], done: int, since: int = 0) -> Published:
    """The last event of those records below the offset `done`."""
    last = run(Partition(SETTINGS, "tokens", 0), [each for each in records if each.offset < done])[-1]
    assert last.key is not None
    named = header(last.headers, "tm-message-id") or b""
    choice, seq = (int(header(last.headers, name) or 0) for name in ("tm-choice", "tm-seq"))
    return Published(last.timestamp, last.key, named.decode(), choice, seq, since)


def moved(
    records: list[InputRecord], until: int, move: Move | None, mark: Mark | None = None, state: Partition | None = None
) -> tuple[Partition, list[Output], ReplayEnd]:
    """A replay of all to an offset that was set by hand, or that a mark has, and what it announces."""
    mark = mark or Mark(until, 0, SETTINGS.fingerprint())
    state = state or Partition(SETTINGS, "tokens", 0, mark.low_water)
    state.begin_replay(mark, lossy=False, move=move)
    run(state, [each for each in records if each.offset < until])
    announced: list[Output] = []
    return state, announced, state.end_replay(announced)


def said(outputs: list[Output]) -> list[str]:
    """Messages that are announced as lost, each by an error and a finish."""
    pairs = events(outputs)
    for error, finish in zip(pairs[::2], pairs[1::2], strict=True):
        assert isinstance(error, Error)
        assert isinstance(finish, Finish)
        assert (error.code, finish.reason, error.seq) == ("state-lost", "error", msgspec.UNSET)
        assert "were skipped" in error.message
    return [error.message_id for error in pairs[::2]]


def summary(moved: Moved | None) -> tuple[str, Span, list[str]]:
    """What a move came to, in short."""
    assert moved is not None
    return moved.direction, moved.skipped, [choice.envelope.message_id for choice in moved.lost]


def test_what_made_events_in_between_is_lost() -> None:
    """What went on, what ended and what began there; not what was not touched, nor what nobody ever heard of."""
    state, announced, end = moved(TALK, UNTIL, Move(published(TALK, DONE)))
    assert said(announced) == ["touched", "ended", "begun"]
    assert summary(end.moved) == ("forward", (DONE, UNTIL), ["touched", "ended", "begun"])
    assert end.lost == 3
    out = run(state, TALK[UNTIL:])
    assert {header(output.headers, "tm-message-id") for output in out} == {b"quiet", b"new"}
    assert state.tally.dropped == {"lost": 2}


def test_the_last_event_says_how_far_it_came() -> None:
    """Later records without events count as processed for readers: nothing is lost with them."""
    talk = log({"message_id": "a", "delta": "1"}, {"message_id": "a", "delta": ""}, {"message_id": "a", "delta": "2"})
    _, announced, end = moved(talk, 2, Move(published(talk, 2)))
    assert (announced, summary(end.moved)) == ([], ("none", (0, 0), []))


def test_going_back_loses_nothing() -> None:
    """The last event is of a record still to come, as its place or its message shows."""
    all_of_it = run(Partition(SETTINGS, "tokens", 0), TALK)
    for last in (published(TALK, 11, since=9), published(TALK, 9)):
        state, announced, end = moved(TALK, 5, Move(last))
        assert (announced, summary(end.moved)[0]) == ([], "back")
        again = run(state, TALK[5:])
        assert again == all_of_it[len(all_of_it) - len(again) :]


def test_without_any_event_all_is_skipped() -> None:
    """A group that never began, and is to begin later: what is open there has lost its beginning."""
    _, announced, end = moved(TALK, UNTIL, Move(done=0))
    assert said(announced) == ["quiet", "touched", "begun"]
    assert summary(end.moved)[:2] == ("forward", (0, UNTIL))


@pytest.mark.parametrize(
    ("done", "direction"), [(DONE, "forward"), (UNTIL, "none"), (UNTIL + 1, "back"), (None, "unknown")]
)
def test_what_was_processed_may_be_known(done: int | None, direction: str) -> None:
    """As from a snapshot; or it is not known at all, and then nothing is announced as lost."""
    _, announced, end = moved(TALK, UNTIL, Move(done=done))
    assert summary(end.moved)[0] == direction
    assert said(announced) == (["touched", "ended", "begun"] if direction == "forward" else [])


def test_a_replay_from_a_snapshot_finds_it_too() -> None:
    """The last event may be of a record that the snapshot has in it already."""
    before = Partition(SETTINGS, "tokens", 0)
    run(before, TALK[:DONE])
    write = before.changes(full=True)
    mark = Mark(UNTIL, 0, SETTINGS.fingerprint())
    for done in (DONE, DONE + 1):
        state = restore(SETTINGS, "tokens", 0, mark, (write.meta, write.changed))
        _, announced, end = moved(TALK, UNTIL, Move(published(TALK, done)), state=state)
        assert summary(end.moved)[:2] == ("forward", (done, UNTIL))
        assert said(announced) == ["touched", "ended", "begun"][done - DONE if done == DONE else 1 :]


def test_it_is_said_once() -> None:
    """Commits remember the span: a later replay loses the same messages, but does not announce them."""
    state, _, _ = moved(TALK, UNTIL, Move(published(TALK, DONE)))
    run(state, TALK[UNTIL:])
    mark = state.mark()
    assert mark.skipped == ((DONE, UNTIL),)
    again, announced, end = moved(TALK, mark.offset, None, mark)
    assert (announced, end.agrees, end.moved) == ([], True, None)
    assert again.mark() == mark
    assert again.changes(full=True).changed == state.changes(full=True).changed


def test_the_span_is_forgotten_when_no_replay_reaches_it() -> None:
    """The low-water mark has passed it."""
    state, _, _ = moved(TALK, UNTIL, Move(published(TALK, DONE)))
    run(state, [*TALK[UNTIL:], *(_end(11 + n, each) for n, each in enumerate(("quiet", "touched", "begun", "new")))])
    run(state, [record(300, {"message_id": "x", "usage": {}})])
    assert state.mark() == Mark(301, 301, SETTINGS.fingerprint())


def _end(offset: int, message: str) -> InputRecord:
    return record(offset, {"message_id": message, "end": True})


def _records(seed: int) -> list[InputRecord]:
    chunks = islice(interleaved(40, seed, at_once=12), 400)
    return [record(offset, chunk, key.encode()) for offset, (key, chunk) in enumerate(chunks)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(8))
def test_wherever_it_is_moved(seed: int) -> None:
    """Random conversations, from anywhere to anywhere: what is not lost comes out as if nothing had happened.

    And a replay from what is committed afterwards gives the same state.
    """
    dice, records = random.Random(seed), _records(seed)
    whole: list[Output] = []
    ends = _ends(records, whole)
    for _ in range(12):
        done, until = dice.randrange(1, len(records)), dice.randrange(1, len(records))
        if not ends[done - 1]:
            continue
        state, announced, end = moved(records, until, Move(published(records, done)))
        assert end.moved is not None
        lost = {(each.key, each.envelope.message_id) for each in end.moved.lost}
        assert len(announced) == 2 * end.lost
        assert end.moved.direction == "forward" or not lost
        out = run(state, records[until:])
        due = [each for each in whole[ends[until - 1] :] if _who(each) not in lost]
        assert [each for each in out if _who(each) not in lost] == due
        again, _, later = moved(records, len(records), None, state.mark())
        assert later.agrees
        assert again.mark() == state.mark()


def _ends(records: list[InputRecord], out: list[Output]) -> list[int]:
    """Number of outputs after each record."""
    state, ends = Partition(SETTINGS, "tokens", 0), []
    for each in records:
        state.process([each], out)
        ends.append(len(out))
    return ends


def _who(output: Output) -> tuple[bytes | None, str]:
    return output.key, (header(output.headers, "tm-message-id") or b"").decode()
