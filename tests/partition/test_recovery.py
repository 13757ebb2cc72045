"""What a replay can't rebuild is announced once, and never taken for sound."""

from typing import Any

import msgspec
import pytest

from tests.partition.logs import SETTINGS, events, log, partition, record, run
from tests.support.restoring import restore
from tokenmill.errors import SnapshotError
from tokenmill.events import Error, Finish
from tokenmill.parser import Options
from tokenmill.partition import Mark, Partition, PartitionSettings, ReplayEnd
from tokenmill.records import InputRecord, Output

OTHER = msgspec.structs.replace(SETTINGS, defaults=Options(format="hermes"))


def replay(
    mark: Mark, records: list[InputRecord], *, lossy: bool = False, settings: PartitionSettings = SETTINGS
) -> tuple[Partition, list[Output], ReplayEnd]:
    """A partition that starts with nothing at the first of the records, and what it announces."""
    start = records[0].offset if lossy else mark.low_water
    return go_on(Partition(settings, "tokens", 0, start), mark, records, lossy=lossy)


def go_on(
    state: Partition, mark: Mark, records: list[InputRecord], *, lossy: bool = False
) -> tuple[Partition, list[Output], ReplayEnd]:
    """Replay what is between the partition and the mark."""
    state.begin_replay(mark, lossy=lossy)
    run(state, [each for each in records if each.offset < mark.offset])
    announced: list[Output] = []
    end = state.end_replay(announced)
    return state, announced, end


def restored(mark: Mark, snapshot: Any, settings: PartitionSettings = SETTINGS) -> Partition:
    """A partition from a snapshot."""
    return restore(settings, "tokens", 0, mark, (snapshot.meta, snapshot.changed))


def said(outputs: list[Output]) -> list[tuple[str, str]]:
    """Message and error code of what is announced; each pair is an error and a finish."""
    pairs = events(outputs)
    for error, finish in zip(pairs[::2], pairs[1::2], strict=True):
        assert isinstance(error, Error)
        assert isinstance(finish, Finish)
        assert finish.reason == "error"
        assert (finish.seq, error.seq) == (msgspec.UNSET, msgspec.UNSET)
    return [(each.message_id, each.code) for each in pairs if isinstance(each, Error)]


class TestUnseen:
    """The topic no longer holds the beginning."""

    records = log(
        {"message_id": "a", "delta": "1"},
        {"message_id": "b", "seq": 0, "delta": "1"},
        {"message_id": "a", "delta": "2"},
        {"message_id": "b", "seq": 1, "delta": "2"},
        {"message_id": "sound", "seq": 0, "delta": "1"},
        {"message_id": "gone", "delta": "2"},
        {"message_id": "gone", "end": True},
    )

    def lost(self) -> tuple[Partition, list[Output], ReplayEnd]:
        """A replay that begins two records too late."""
        mark = partition()
        run(mark, self.records)
        return replay(mark.mark(), self.records[2:], lossy=True)

    def test_messages_without_their_opening_are_announced(self) -> None:
        """Those that are still open: neither the one that was seen to open nor the one that ended."""
        _, announced, end = self.lost()
        assert said(announced) == [("a", "state-lost"), ("b", "state-lost")]
        assert end == ReplayEnd(lost=2, agrees=True)

    def test_the_announcement_has_the_time_of_the_last_record_and_no_seq(self) -> None:
        """No clock is read; a reader that drops repeats by `seq` keeps it."""
        _, announced, _ = self.lost()
        assert {output.timestamp for output in announced} == {1_006}
        assert all("tm-seq" not in dict(output.headers) for output in announced)
        assert dict(announced[0].headers)["tm-message-id"] == b"a"

    def test_their_chunks_are_counted_until_their_end(self) -> None:
        """Then the id is like that of any other ended message."""
        state, _, _ = self.lost()
        late = log(
            {"message_id": "a", "delta": "3"},
            {"message_id": "a", "end": True},
            {"message_id": "a", "delta": "4"},
            start=7,
        )
        assert run(state, late) == []
        assert state.tally.dropped == {"lost": 2, "late": 1}
        assert state.open_messages == 2

    def test_a_control_ends_them_silently(self) -> None:
        """So those that nobody ends are gone after the idle timeout."""
        state, _, _ = self.lost()
        state.idle(0, 1_000)
        controls = state.idle(1_000, 1_000)
        assert len(controls) == 3
        assert run(state, [record(7, controls[0].value)]) == []
        assert state.open_messages == 2

    def test_open_begins_the_message_again(self) -> None:
        """The producer starts over."""
        state, _, _ = self.lost()
        out = run(state, log({"message_id": "a", "open": {}, "delta": "new"}, start=7))
        assert [event.type for event in events(out)] == ["message-start", "text-start", "text-delta"]

    def test_a_later_replay_does_not_announce_them_again(self) -> None:
        """And does not take their tails for messages."""
        state, _, _ = self.lost()
        more = log({"message_id": "a", "delta": "3"}, {"message_id": "new", "delta": "1"}, start=7)
        run(state, more)
        mark = state.mark()
        assert (mark.low_water, mark.unseen_until) == (2, 7)
        again, announced, end = replay(mark, self.records + more)
        assert (announced, end) == ([], ReplayEnd(lost=0, agrees=True))
        assert again.mark() == mark
        assert again.changes(full=True).changed == state.changes(full=True).changed

    def test_a_replay_that_begins_too_late_again_announces_only_what_is_new(self) -> None:
        """Retention continues while the worker is down."""
        state, _, _ = self.lost()
        more = log(
            {"message_id": "n", "delta": "1"}, {"message_id": "n", "delta": "2"}, {"message_id": "b", "seq": 2}, start=7
        )
        run(state, more)
        _, announced, _ = replay(state.mark(), [*self.records[3:], *more][5:], lossy=True)
        assert said(announced) == [("n", "state-lost"), ("b", "state-lost")]
        _, announced, _ = replay(state.mark(), [*self.records[3:], *more], lossy=True)
        assert said(announced) == [("n", "state-lost")]

    def test_the_note_is_dropped_when_no_replay_can_reach_there(self) -> None:
        """The low-water mark has passed it."""
        state, _, _ = self.lost()
        ends = log(*({"message_id": name, "end": True} for name in ("a", "b", "sound")), start=7)
        run(state, [*ends, record(200, {"message_id": "x", "usage": {}})])
        assert state.mark() == Mark(201, 201, SETTINGS.fingerprint())

    def test_a_snapshot_from_before_is_refused(self) -> None:
        """It has messages open that were announced as lost."""
        before = partition()
        run(before, self.records[:3])
        state, _, _ = self.lost()
        with pytest.raises(SnapshotError, match="does not lead"):
            restored(state.mark(), before.changes(full=True))

    def test_nothing_seen_is_nothing_said(self) -> None:
        """Only the number of open messages is known, not which; differing from the commit is not a defect then."""
        state = partition()
        run(state, self.records)
        _, announced, end = replay(state.mark(), log({"message_id": "x", "usage": {}}, start=6), lossy=True)
        assert (announced, end) == ([], ReplayEnd(lost=0, agrees=True, missing=3))


class TestGone:
    """The topic dropped records that nobody had processed."""

    records = log({"message_id": "m", "delta": "1 "}, {"message_id": "ended", "delta": "x", "end": True})
    rest = log({"message_id": "m", "delta": "4"}, {"message_id": "n", "delta": "new"}, start=5)

    def passed(self) -> tuple[Partition, list[Output], ReplayEnd]:
        """A partition from a snapshot at its mark, where the topic begins after that."""
        before = partition()
        run(before, self.records)
        mark = before.mark()
        state, announced = restored(mark, before.changes(full=True)), list[Output]()
        state.begin_replay(mark, lossy=False)
        return state, announced, state.end_replay(announced, first=5)

    def test_what_is_open_there_ends_as_lost(self) -> None:
        """Whatever its state is: it may lack what was dropped, and a call of two halves is none that a model wrote."""
        state, announced, end = self.passed()
        assert said(announced) == [("m", "state-lost")]
        assert "before anybody processed them" in str(events(announced)[0])
        assert end == ReplayEnd(lost=1, agrees=True)
        assert state.offset == 5
        assert [event.message_id for event in events(run(state, self.rest))] == ["n"] * 3
        assert state.tally.dropped == {"lost": 1}

    def test_commits_remember_it(self) -> None:
        """Neither the snapshot of before brings it back nor a later replay."""
        state, _, _ = self.passed()
        mark = state.mark()
        assert (mark.offset, mark.low_water, mark.announced) == (5, 0, ((0, 5),))
        again, announced, end = go_on(restored(mark, state.changes(full=True)), mark, [])
        assert (announced, end, again.mark()) == ([], ReplayEnd(lost=0, agrees=True), mark)
        old = partition()
        run(old, self.records)
        again, announced, end = go_on(restored(mark, old.changes(full=True)), mark, [])
        assert (announced, end, again.mark()) == ([], ReplayEnd(lost=0, agrees=True), mark)

    def test_where_nothing_is_gone_nothing_is_lost(self) -> None:
        """The topic may begin anywhere up to the mark."""
        before = partition()
        run(before, self.records)
        mark = before.mark()
        for first in (0, 2):
            state, announced = restored(mark, before.changes(full=True)), list[Output]()
            state.begin_replay(mark, lossy=False)
            assert (state.end_replay(announced, first=first), announced) == (ReplayEnd(lost=0, agrees=True), [])
            assert state.mark() == mark

    def test_what_codecs_keep_is_dropped(self) -> None:
        """Half an event would be joined with half of another, and messages that continue lack their beginning."""
        settings = msgspec.structs.replace(SETTINGS, codec="anthropic")
        before = partition(settings=settings)
        start = b'{"type": "message_start", "message": {"id": "a"}}'
        delta = b'{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}'
        run(before, [record(0, start), record(1, delta)])
        mark = before.mark()
        state, announced = restored(mark, before.changes(full=True), settings), list[Output]()
        state.begin_replay(mark, lossy=False)
        assert state.open_streams == 1
        assert state.end_replay(announced, first=5) == ReplayEnd(lost=1, agrees=True, missing=1)
        assert (state.open_streams, said(announced)) == (0, [("a", "state-lost")])
        write = state.changes(full=False)
        assert [name for name in write.removed if name.startswith(b"k")] == [
            name for name in before.changes(full=True).changed if name.startswith(b"k")
        ]
        assert state.mark().missing.time == 1_001 + SETTINGS.max_age_ms
        assert [code for _, code in said(run(state, [record(5, delta), record(6, delta)]))] == ["state-lost"]

    def test_a_new_answer_comes_out_whole(self) -> None:
        """With a codec whose records all name their message: nothing more is expected of ended ones."""
        settings = msgspec.structs.replace(SETTINGS, codec="openai")

        def chunks(name: bytes, start: int) -> list[InputRecord]:
            return [
                record(start + at, b'{"id":"%b","choices":[{"index":0,"delta":{"content":"x"}}]}' % name)
                for at in range(2)
            ]

        before = partition(settings=settings)
        run(before, chunks(b"old", 0))
        mark = before.mark()
        state, announced = restored(mark, before.changes(full=True), settings), list[Output]()
        state.begin_replay(mark, lossy=False)
        assert state.open_streams == 1
        assert state.end_replay(announced, first=5) == ReplayEnd(lost=1, agrees=True)
        assert said(announced) == [("old", "state-lost")]
        assert run(state, chunks(b"old", 5)) == []
        assert [event.type for event in events(run(state, chunks(b"new", 7)))] == [
            *("message-start", "text-start"),
            *("text-delta", "text-delta"),
        ]


class TestForeign:
    """The configuration has changed."""

    records = log({"message_id": "a", "delta": "<think>1"}, {"message_id": "b", "delta": "1"})
    more = log({"message_id": "n", "delta": "<think>1"}, start=2)

    def before(self) -> Partition:
        """A partition under the old configuration."""
        state = partition()
        run(state, self.records)
        return state

    def test_without_a_snapshot_open_messages_end(self) -> None:
        """Their options were the old defaults, which are no longer known."""
        state, announced, end = replay(self.before().mark(), self.records, settings=OTHER)
        assert said(announced) == [("a", "reconfigured"), ("b", "reconfigured")]
        assert end.lost == 2
        assert run(state, log({"message_id": "a", "delta": "2"}, start=2)) == []

    def test_with_a_snapshot_they_go_on(self) -> None:
        """Options are pinned at opening."""
        old = self.before()
        mark = old.mark()
        state, announced, end = go_on(restored(mark, old.changes(full=True), OTHER), mark, self.records)
        assert (announced, end) == ([], ReplayEnd(lost=0, agrees=True))
        (delta,) = events(run(state, log({"message_id": "a", "delta": "</think>2"}, start=2)))
        assert delta.type == "text-delta"

    def test_what_opened_after_the_snapshot_ends(self) -> None:
        """Only what the replay opened is in doubt."""
        old = self.before()
        snapshot = old.changes(full=True)
        run(old, self.more)
        mark = old.mark()
        _, announced, _ = go_on(restored(mark, snapshot, OTHER), mark, self.more)
        assert said(announced) == [("n", "reconfigured")]

    def test_a_later_replay_does_not_announce_them_again(self) -> None:
        """And what opened under the new configuration is sound."""
        state, _, _ = replay(self.before().mark(), self.records, settings=OTHER)
        run(state, self.more)
        mark = state.mark()
        assert (mark.low_water, mark.foreign_until) == (0, 2)
        again, announced, end = replay(mark, self.records + self.more, settings=OTHER)
        assert (announced, end) == ([], ReplayEnd(lost=0, agrees=True))
        assert again.mark() == mark
        assert again.changes(full=True).changed == state.changes(full=True).changed

    def test_what_only_the_snapshot_had_is_announced_when_that_is_gone(self) -> None:
        """The configuration changed, a snapshot carried the messages over, and then it was lost."""
        old = self.before()
        mark = old.mark()
        state, _, _ = go_on(restored(mark, old.changes(full=True), OTHER), mark, self.records)
        run(state, self.more)
        _, announced, _ = replay(state.mark(), self.records + self.more, settings=OTHER)
        assert said(announced) == [("a", "reconfigured"), ("b", "reconfigured")]

    def test_what_a_snapshot_carries_through_several_changes_is_not_taken_for_announced(self) -> None:
        """As in a rolling change, where a partition comes to a new worker, to an old one, and to a new one again."""
        old = self.before()
        mark = old.mark()
        state, _, _ = go_on(restored(mark, old.changes(full=True), OTHER), mark, [])
        run(state, self.more)
        for settings in (SETTINGS, OTHER, SETTINGS):
            mark = state.mark()
            state, announced, end = go_on(restored(mark, state.changes(full=True), settings), mark, [])
            assert (announced, end) == ([], ReplayEnd(lost=0, agrees=True))
        assert run(state, log({"message_id": "n", "delta": "2"}, start=3)) != []
        _, announced, _ = replay(mark, self.records + self.more, settings=SETTINGS)
        assert said(announced) == [("a", "reconfigured"), ("b", "reconfigured"), ("n", "reconfigured")]

    def test_each_change_announces_what_it_hits(self) -> None:
        """Two changes without a snapshot: what the first ended is not said again, and stays ended after the second."""
        state, _, _ = replay(self.before().mark(), self.records, settings=OTHER)
        run(state, self.more)
        mark = state.mark()
        state, announced, _ = replay(mark, self.records + self.more, settings=SETTINGS)
        assert said(announced) == [("n", "reconfigured")]
        later = state.mark()
        again, announced, end = replay(later, self.records + self.more, settings=SETTINGS)
        assert (announced, end) == ([], ReplayEnd(lost=0, agrees=True))
        assert again.mark() == later

    def test_an_old_snapshot_does_not_bring_back_what_was_announced(self) -> None:
        """A store that was rolled back has it open."""
        snapshot = self.before().changes(full=True)
        state, _, _ = replay(self.before().mark(), self.records, settings=OTHER)
        run(state, self.more)
        mark = state.mark()
        again, announced, end = go_on(restored(mark, snapshot, OTHER), mark, self.more)
        assert (announced, end) == ([], ReplayEnd(lost=0, agrees=True))
        assert again.mark() == mark

    def test_the_note_is_dropped_when_no_replay_can_reach_there(self) -> None:
        """The low-water mark has passed it."""
        state, _, _ = replay(self.before().mark(), self.records, settings=OTHER)
        ends = log(*({"message_id": name, "end": True} for name in "ab"), start=2)
        run(state, [*ends, record(200, {"message_id": "x", "usage": {}})])
        assert state.mark() == Mark(201, 201, OTHER.fingerprint())


def test_a_replay_counts_nothing() -> None:
    """Metrics are of what was published."""
    state = partition({"message_id": "a", "delta": "1"}, {"delta": "x", "seq": 3})
    again, _, _ = replay(state.mark(), log({"message_id": "a", "delta": "1"}, {"delta": "x", "seq": 3}))
    drained = again.drain()
    assert (drained.events, drained.dead_letters, drained.chunks, drained.opened) == ({}, {}, {}, [])


def test_a_wrong_state_is_noticed() -> None:
    """A log other than the committed one does not give the state in the mark."""
    state = partition({"message_id": "a", "delta": "1"})
    _, _, end = replay(state.mark(), log({"message_id": "b", "delta": "1"}))
    assert end == ReplayEnd(lost=0, agrees=False)


def test_the_offset_is_the_marks_after_the_replay() -> None:
    """Transaction markers at the end of the log have no record."""
    state, _, _ = replay(Mark(9, 5, SETTINGS.fingerprint()), [])
    assert state.offset == 9
