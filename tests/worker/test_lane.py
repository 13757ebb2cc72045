"""What may be committed of a partition, and when: nothing before all earlier outputs are acknowledged."""

import asyncio
import json
import time

import pytest

from tokenmill.errors import Unavailable
from tokenmill.observe import Numbers
from tokenmill.partition import Mark, Partition, PartitionSettings
from tokenmill.partition.tally import REJECTED_KEPT
from tokenmill.records import Headers, InputRecord
from tokenmill.worker.lane import AtOnce, Lane, Phase
from tokenmill.worker.snapshots import LaneSnapshots

SETTINGS = PartitionSettings()
NOW_S = 1_000.0


class Box:
    """What a lane uses of an outbox; the test acknowledges."""

    def __init__(self) -> None:
        self.begun = 0
        self.acked = 0
        self.appended = 0
        self.misdated = False
        self.timestamps: list[int] = []
        self.closed = False

    @property
    def unacked_bytes(self) -> int:
        return 10 * (self.begun - self.acked)

    def append(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> None:  # noqa: ARG002 -- as its model
        self.timestamps.append(timestamp)
        self.appended += 1

    def flush(self) -> None:
        if self.appended:
            self.begun, self.appended = self.begun + 1, 0

    def close(self) -> None:
        self.closed = True


def _lane(settings: PartitionSettings = SETTINGS) -> Lane:
    partition = Partition(settings, "tokens", 0)
    lane = Lane(
        LaneSnapshots(partition, 0),
        ["events", "tokens.dlq"],
        lambda _topic, _settle: Box(),  # type: ignore[arg-type, return-value] # what a lane sees of one
        Box(),  # type: ignore[arg-type] # likewise
        Numbers(),
        AtOnce(),
        wall=lambda: NOW_S,
    )
    lane.go_live()
    return lane


def _record(offset: int, timestamp: int = 999_000, **chunk: object) -> InputRecord:
    value = json.dumps({"message_id": "m", "delta": "x", **chunk}).encode()
    return InputRecord("tokens", 0, offset, timestamp, b"c", value)


def _ack(lane: Lane, topic: str = "events", batches: int = 1) -> None:
    lane.outboxes[topic].acked += batches
    lane.settle()


def test_control_records_go_to_the_input() -> None:
    """And are not outputs: nothing waits for them."""
    lane = _lane()
    lane.write_controls([])
    assert lane.inbox.begun == 0
    lane.process([_record(0)])
    lane.write_controls(lane.partition.longest_idle(1))
    assert (lane.inbox.begun, lane._numbers.value("tokenmill_timeouts_written_total")) == (1, 1)


def test_control_records_have_the_time_that_the_broker_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """This host's, or, if that was refused, the log's: that of its last record, and the time since that was read."""
    now = [5.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    lane = _lane()
    lane.process([_record(0, timestamp=400_000)])
    now[0] += 2
    lane.write_controls(lane.partition.longest_idle(1))
    lane.inbox.misdated = True
    lane.write_controls(lane.partition.longest_idle(1))
    now[0] += 1_000
    lane.write_controls(lane.partition.longest_idle(1))
    assert lane.inbox.timestamps == [1_000_000, 402_000, 1_000_000]  # type: ignore[attr-defined] # a Box


def test_a_mark_waits_for_the_outputs_in_front_of_it() -> None:
    """First acknowledged, then committed."""
    lane = _lane()
    lane.process([_record(0), _record(1)])
    lane.mark()
    assert lane.in_flight
    assert lane.committable() is None
    _ack(lane)
    mark = lane.committable()
    assert mark is not None
    assert mark.offset == 2
    assert not lane.in_flight


def test_slices_settle_in_order_over_all_topics() -> None:
    """Outputs of a later slice that are acknowledged sooner do not count."""
    lane = _lane()
    lane.process([_record(0)])
    lane.process([InputRecord("tokens", 0, 1, 0, b"c", b"{")])
    lane.mark()
    _ack(lane, "tokens.dlq")
    assert lane.committable() is None
    _ack(lane)
    assert lane.committable() is not None


def test_the_newest_acknowledged_mark_is_committed() -> None:
    """Older ones are passed over, what comes after it stays in flight, and afterwards there is nothing to commit."""
    lane = _lane()
    for offset in range(3):
        lane.process([_record(offset)])
        lane.mark()
    _ack(lane, batches=2)
    mark = lane.committable()
    assert mark is not None
    assert mark.offset == 2
    lane.commit_done(mark)
    assert (lane.committed, lane.committable(), lane.in_flight) == (mark, None, True)


def test_a_mark_stays_committable_while_later_records_are_acknowledged() -> None:
    """They have no mark yet; and a newer mark outlives the commit of an older one, which was on its way."""
    lane = _lane()
    lane.process([_record(0)])
    lane.mark()
    _ack(lane)
    first = lane.committable()
    lane.process([_record(1)])
    _ack(lane)
    assert first is not None
    assert lane.committable() is first
    lane.mark()
    second = lane.committable()
    assert second is not None
    assert second is not first
    lane.commit_done(first)
    assert lane.committable() is second


def test_what_the_broker_has_is_not_marked_again_when_a_lane_goes_live() -> None:
    """Where it has nothing, or another offset, it is."""
    for offset, unmarked in ((None, True), (7, True), (0, False)):
        lane = _lane()
        lane.committed = None if offset is None else Mark(offset=offset, low_water=0, fingerprint="")
        lane.go_live()
        assert lane.unmarked is unmarked


def test_nothing_new_makes_no_mark() -> None:
    """A quiet partition is not committed again and again."""
    lane = _lane()
    lane.process([_record(0)])
    lane.mark()
    _ack(lane)
    mark = lane.committable()
    assert mark is not None
    lane.commit_done(mark)
    lane.mark()
    assert (lane.committable(), lane.in_flight) == (None, False)


def test_records_without_output_can_be_committed_at_once() -> None:
    """They wait for no acknowledgement."""
    lane = _lane()
    lane.process([_record(0, delta="", usage={})])
    lane.mark()
    assert lane.committable() is not None


def test_a_closed_lane_commits_and_sends_nothing() -> None:
    """The partition has another owner now, even if an acknowledgement still comes."""
    lane = _lane()
    lane.process([_record(0)])
    lane.mark()
    lane.close()
    _ack(lane)
    lane.fail(Unavailable("what was on its way did not arrive"))
    assert lane.phase is Phase.CLOSED
    assert lane.committable() is None
    assert all(box.closed for box in (*lane.outboxes.values(), lane.inbox))  # type: ignore[attr-defined] # a Box


def test_a_failed_lane_commits_nothing() -> None:
    """Not even what is acknowledged, which may be in a transaction with what is not."""
    lane = _lane()
    lane.process([_record(0)])
    lane.mark()
    _ack(lane)
    lane.fail(Unavailable("the transaction did not end"))
    assert (lane.phase, lane.committable()) == (Phase.FAILED, None)


async def test_a_drain_ends_with_the_last_acknowledgement() -> None:
    """Not before; and immediately if nothing is in flight."""
    lane = _lane()
    await lane.drained()
    lane.process([_record(0)])
    draining = asyncio.create_task(lane.drained())
    await asyncio.sleep(0)
    assert not draining.done()
    _ack(lane)
    await draining


def test_latency_is_counted_when_everything_is_acknowledged() -> None:
    """Of each chunk, and of the first one of each message."""
    lane = _lane()
    latency = lane._numbers.histograms["tokenmill_chunk_to_event_latency_seconds"]
    first = lane._numbers.histograms["tokenmill_time_to_first_event_seconds"]
    lane.process([_record(0), _record(1, timestamp=999_500)])
    assert latency.count == 0
    _ack(lane)
    assert latency.count == 2
    assert latency.total == pytest.approx(1.5)
    assert first.count == 1
    assert first.total == pytest.approx(1.0)


def test_unacknowledged_output_is_measured() -> None:
    """By bytes for the pause, by batches for the watchdog."""
    lane = _lane()
    lane.process([_record(0)])
    assert (lane.unacked_bytes, lane.acknowledged) == (10, 0)
    _ack(lane)
    assert (lane.unacked_bytes, lane.acknowledged) == (0, 1)


def test_another_state_is_adopted_with_its_snapshots() -> None:
    """Parked state brings what the store has of it; a new state gets what the lane has."""
    lane = _lane()
    parked = Partition(SETTINGS, "tokens", 0, 7)
    snapshots = LaneSnapshots(parked, 0)
    lane.adopt(parked, snapshots)
    assert (lane.partition, lane.snapshots) == (parked, snapshots)
    fresh = Partition(SETTINGS, "tokens", 0, 9)
    lane.adopt(fresh)
    assert snapshots.partition is fresh


def test_records_that_cant_be_used_leave_a_trace(caplog: pytest.LogCaptureFixture) -> None:
    """With code, place and where to look, and none of their content; only some of one slice, as all are counted."""
    lane = _lane(SETTINGS)
    bad = [InputRecord("tokens", 0, offset, 5, b"c", b"{\x1b") for offset in range(50)]
    lane.process(bad)
    [first, *others] = caplog.messages
    assert first.startswith("dead letter, undecodable: tokens/0@0; ")
    assert first.endswith("`tokenmill dlq list` shows what is wrong with it")
    assert first.isprintable()
    assert {record.name for record in caplog.records} == {"tokenmill.worker.rejected.undecodable"}  # own repeats
    assert len(others) == REJECTED_KEPT - 1
    assert lane._numbers.value("tokenmill_dead_letters_total", "undecodable") == 50


def test_a_failure_of_the_program_is_an_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """With the partition and the line of code, so that it can be reported."""
    lane = _lane(SETTINGS)
    lane.partition.tally.failed.append("a mistake in tokenmill, or in a plug-in: KeyError in f, x.py:1")
    lane.process([])
    (said,) = caplog.records
    assert (said.levelname, said.name) == ("ERROR", "tokenmill.worker.failed")
    assert said.message == "tokens/0: a mistake in tokenmill, or in a plug-in: KeyError in f, x.py:1; please report it"


def test_the_debug_log_shows_calls_beside_their_source(caplog: pytest.LogCaptureFixture) -> None:
    """If the settings ask for it; otherwise what a model writes is in no log."""
    call = '<tool_call>{"name":"f","arguments":{}}</tool_call>'
    told = []
    for traced in (True, False):
        caplog.clear()
        with caplog.at_level("DEBUG"):
            _lane(PartitionSettings(traced=traced)).process([_record(0, open={"format": "json_mix"}, delta=call)])
        told.append(caplog.messages)
    assert told == [[f"c, message m: {call}\nbecame call f {{}}"], []]
