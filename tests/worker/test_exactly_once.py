"""Steps of the cycle where publish and commit are one transaction, on a real Kafka."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka import TopicPartition

from tests.support.rig import Rig, rigged
from tests.support.slow_publisher import SlowPublisher, record, turns
from tests.support.stage import Stage, until
from tokenmill.errors import FatalError, Unavailable
from tokenmill.observe import Hooks, Numbers
from tokenmill.partition import Mark
from tokenmill.worker import exactly_once
from tokenmill.worker.exactly_once import CATCHING_UP, InTransactions, TransactionCommitter, in_transactions
from tokenmill.worker.lane import Lane, Phase

pytestmark = pytest.mark.integration

DELIVERY = "exactly-once"


async def _live(rig: Rig) -> Lane:
    await rig.live()
    return rig.lane()


async def _parsed(stage: Stage, rig: Rig, first: int = 0, count: int = 3) -> None:
    """Some records of one message, on partition 0, read and parsed."""
    for seq in range(first, first + count):
        await stage.send("c", {"message_id": "m", "seq": seq, "delta": "x"}, partition=0)
    await rig.parsed(first + count)


async def test_a_commit_has_outputs_offset_and_mark(stage: Stage) -> None:
    """All together; before it nothing is sent. Latency is measured up to the commit."""
    async with rigged(stage, delivery=DELIVERY) as rig:
        lane = await _live(rig)
        await _parsed(stage, rig)
        latency = rig.engine.numbers.histograms["tokenmill_chunk_to_event_latency_seconds"]
        assert (lane.acknowledged, lane.in_flight, latency.count) == (0, True, 0)
        await rig.commit()
        assert await stage.found() == await stage.expected()
        assert Mark.decode(await stage.committed_at(3)) == lane.committed
        assert (lane.in_flight, latency.count) == (False, 3)
        began, went_on = sorted(rig.hooks.commits, key=lambda commit: max(commit.values()))
        assert (began, went_on) == ({(stage.topics.tokens, 1): 0}, {(stage.topics.tokens, 0): 3})
        assert rig.engine.numbers.value("tokenmill_commits_total", "done") == 2  # where each partition begins


async def test_a_producer_that_is_given_up_is_not_watched(stage: Stage) -> None:
    """Its sender may have ended with the failure; its partition is about to get another one, and the worker goes on."""
    async with rigged(stage, delivery=DELIVERY) as rig:
        lane = await _live(rig)
        transaction = in_transactions(lane).transaction
        broken = transaction.producer
        assert broken in rig.engine.delivery.producers()
        transaction.failed(TimeoutError())
        assert broken not in rig.engine.delivery.producers()
        after = await _live(rig)
        assert in_transactions(after).transaction.producer in rig.engine.delivery.producers()
        assert rig.failures == []


async def test_hooks_hear_of_a_commit_when_everything_is_acknowledged(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is stopped there has its outputs on the topics, in an open transaction."""
    async with rigged(stage, delivery=DELIVERY) as rig:
        lane = await _live(rig)
        await _parsed(stage, rig)
        told: list[tuple[dict[tuple[str, int], int], int, bool]] = []

        def committing(offsets: dict[tuple[str, int], int]) -> None:
            told.append((offsets, lane.acknowledged, lane.in_flight))

        monkeypatch.setattr(rig.hooks, "committing", committing)
        await rig.commit()
        assert ({(stage.topics.tokens, 0): 3}, 1, True) in told


async def test_what_is_parsed_during_a_transaction_is_in_the_next(stage: Stage) -> None:
    """The mark decides what belongs to it: the committed offset and the outputs agree."""
    async with rigged(stage, delivery=DELIVERY) as rig:
        lane = await _live(rig)
        await _parsed(stage, rig, 0, 2)
        lane.mark()
        await _parsed(stage, rig, 2, 2)
        mark = lane.committable()
        assert mark is not None
        await in_transactions(lane).commit(lane, mark)
        await stage.committed_at(2)
        events = [record.timestamp for record in await stage.read(stage.topics.events)]
        inputs = [record.timestamp for record in await stage.read(stage.topics.tokens)]
        assert sorted(set(events)) == sorted(set(inputs[:2]))
        assert lane.in_flight
        await rig.commit()
        assert await stage.found() == await stage.expected()


async def test_offsets_are_read_behind_the_fence(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """InitProducerId, then the committed offset, then the seek: until the first an old owner may still commit."""
    async with rigged(stage, delivery=DELIVERY) as rig:
        steps: list[str] = []
        lane = await _live(rig)
        await rig.engine.ownership.on_partitions_revoked([])
        coordinator, consumer = rig.engine.consumer._coordinator, rig.engine.consumer
        fetch, seek, take_over = coordinator.fetch_committed_offsets, consumer.seek, rig.engine.delivery.take_over

        async def fenced(*args: object) -> None:
            await take_over(*args)  # type: ignore[arg-type] # -- those it was called with
            steps.append("fence")

        async def fetched(*args: object) -> object:
            steps.append("offset")
            return await fetch(*args)

        def sought(*args: object) -> None:
            steps.append("seek")
            seek(*args)

        monkeypatch.setattr(rig.engine.delivery, "take_over", fenced)
        monkeypatch.setattr(coordinator, "fetch_committed_offsets", fetched)
        monkeypatch.setattr(consumer, "seek", sought)
        epoch = lane.snapshots.epoch
        rig.engine.ownership.on_partitions_assigned([lane.topic_partition])
        after = await _live(rig)
        assert steps == ["fence", "offset", "seek"]
        assert after.snapshots.epoch > epoch


async def test_state_is_kept_through_a_rebalance(stage: Stage) -> None:
    """The flush ends the transaction; the broker then has exactly our commit."""
    async with rigged(stage, delivery=DELIVERY) as rig:
        lane = await _live(rig)
        await _parsed(stage, rig)
        await rig.engine.ownership.on_partitions_revoked([])
        assert rig.engine.delivery.producers() == [rig.engine.producer]
        assert await stage.found() == await stage.expected()
        rig.engine.ownership.on_partitions_assigned([TopicPartition(stage.topics.tokens, n) for n in range(2)])
        after = await _live(rig)
        assert after.partition is lane.partition
        assert {source for _, source, _ in rig.hooks.restores[2:]} == {"memory"}
        await _parsed(stage, rig, 3, 2)
        await rig.commit()
        assert await stage.found() == await stage.expected()
        assert rig.failures == []


async def test_a_fenced_worker_commits_nothing_and_ends(stage: Stage) -> None:
    """It was frozen while another took over: it notices with its next records, which is fatal."""
    async with rigged(stage, delivery=DELIVERY) as zombie:
        lane = await _live(zombie)
        await _parsed(stage, zombie)
        other = zombie.engine.delivery.make_lane(lane.partition)
        await zombie.engine.delivery.take_over([other], 0)
        in_transactions(lane).transaction._seconds = 2  # for the acknowledgement that does not come
        await zombie.commit()
        assert "is fenced" in str(zombie.failures[0])
        assert await stage.found() == {}
        assert (await stage.committed()).get(0) is None
        assert zombie.engine.numbers.value("tokenmill_commits_total", "failed") == 1


async def test_a_lane_that_is_closed_may_fail(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was given up while its transaction was under way: the next owner repeats it. A lane of ours may not."""
    gives_up = False

    async def fenced(*_: object) -> None:
        if gives_up:
            lane.close()
        raise FatalError("it is fenced")

    async with rigged(stage, delivery=DELIVERY) as rig:
        lane = await _live(rig)
        await _parsed(stage, rig)
        lane.mark()
        mark = lane.committable()
        assert mark is not None
        monkeypatch.setattr(in_transactions(lane).transaction, "commit", fenced)
        with pytest.raises(FatalError, match="it is fenced"):
            await rig.engine.committer.commit({lane: mark})
        gives_up = True
        await rig.engine.committer.commit({lane: mark})
        assert rig.engine.numbers.value("tokenmill_commits_total", "failed") == 2
        assert rig.failures == []
        assert lane.committable() is None


@asynccontextmanager
async def _committing(rig: Rig, monkeypatch: pytest.MonkeyPatch, interval_s: float = 3_600.0) -> AsyncIterator[None]:
    """The committer at work, and nothing else of the engine."""
    monkeypatch.setattr(rig.engine.committer, "_interval_s", interval_s)
    running = asyncio.create_task(rig.engine.committer.run(lambda: list(rig.engine.lanes.values())))
    await asyncio.sleep(0)
    yield
    running.cancel()
    await asyncio.wait([running])


async def test_a_transaction_begins_when_there_is_something_to_say(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing waits for an interval; what was there before is looked at when the committer begins."""
    async with rigged(stage, delivery=DELIVERY) as rig:
        await _live(rig)
        await _parsed(stage, rig)
        async with _committing(rig, monkeypatch):
            await until(lambda: {(stage.topics.tokens, 0): 3} in rig.hooks.commits, "the first are committed")
            await _parsed(stage, rig, 3, 2)
            await until(lambda: {(stage.topics.tokens, 0): 5} in rig.hooks.commits, "the next are committed")
        assert await stage.found() == await stage.expected()


async def test_lanes_wait_for_their_own_transactions_alone(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that hangs holds up its own partition; a flush waits for it, too."""
    async with rigged(stage, delivery=DELIVERY) as rig:
        lane = await _live(rig)
        await rig.commit()
        commit, go_on = in_transactions(lane).transaction.commit, asyncio.Event()

        async def slow(*args: Any) -> None:
            await go_on.wait()
            await commit(*args)

        monkeypatch.setattr(in_transactions(lane).transaction, "commit", slow)
        async with _committing(rig, monkeypatch):
            await _parsed(stage, rig)
            await stage.send("d", {"message_id": "m", "seq": 0, "delta": "x"}, partition=1)
            other = rig.lane(1)
            while other.partition.offset < 1:
                await rig.turn()
            await until(lambda: other.committed is not None and other.committed.offset == 1, "the other is committed")
            flush = asyncio.create_task(rig.engine.committer.flush([lane], 20))
            await asyncio.sleep(0)
            assert not flush.done()
            go_on.set()
            assert await flush == [lane]
        assert await stage.found() == await stage.expected()


async def test_a_lane_has_one_transaction_at_a_time(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush meanwhile waits for that one, and commits what came after it."""
    async with rigged(stage, delivery=DELIVERY) as rig:
        lane = await _live(rig)
        await _parsed(stage, rig)
        commit, go_on, under_way = in_transactions(lane).transaction.commit, asyncio.Event(), list[int]()

        async def slow(place: TopicPartition, offset: Any, *more: Any) -> None:
            under_way.append(offset.offset)
            await go_on.wait()
            await commit(place, offset, *more)
            under_way.remove(offset.offset)

        monkeypatch.setattr(in_transactions(lane).transaction, "commit", slow)
        tick = asyncio.create_task(rig.engine.committer.tick([lane]))
        await until(lambda: under_way, "it is being committed")
        await _parsed(stage, rig, 3)
        flush = asyncio.create_task(rig.engine.committer.flush([lane], 20))
        await until(lambda: len(under_way) > 1 or in_transactions(lane).one_at_a_time._waiters, "its flush waits")
        assert under_way == [3]
        go_on.set()
        await tick
        assert await flush == [lane]
        assert await stage.found() == await stage.expected()


async def test_a_lane_that_catches_up_commits_at_the_interval(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """So much comes during one transaction that the next may wait; one with little to publish begins immediately."""
    async with rigged(stage, delivery=DELIVERY) as rig:
        lane, now = await _live(rig), [10.0]
        committer, came, rests = rig.engine.committer, iter((CATCHING_UP, CATCHING_UP - 1, 0)), list[float]()
        assert isinstance(committer, TransactionCommitter)

        async def tick(_: object) -> None:
            now[0] += 0.01
            lane.partition.offset += next(came)

        async def sleep(seconds: float) -> None:
            rests.append(seconds)
            now[0] += seconds

        with monkeypatch.context() as patch:
            patch.setattr(committer, "_clock", lambda: now[0])
            patch.setattr(committer, "tick", tick)
            patch.setattr(exactly_once, "asyncio", SimpleNamespace(sleep=sleep))
            for _ in range(3):
                await committer._soon(lane)
        assert rests == pytest.approx([0.0, 0.04, 0.0])


async def test_a_transaction_that_fails_ends_the_committer(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """If one partition is fenced, something is wrong with the worker."""
    async with rigged(stage, delivery=DELIVERY) as rig:
        await _live(rig)

        async def broken(*_: object) -> None:
            raise FatalError("it is fenced")

        monkeypatch.setattr(rig.engine.committer, "commit", broken)
        with pytest.raises(FatalError, match="it is fenced"):
            async with asyncio.timeout(20):
                await rig.engine.committer.run(lambda: list(rig.engine.lanes.values()))


async def test_control_records_are_outside_of_transactions(stage: Stage) -> None:
    """They can be read immediately, and no aborted transaction takes them along."""
    async with rigged(stage, delivery=DELIVERY) as rig:
        lane = await _live(rig)
        lane.inbox.append(1, b"c", b'{"control":"timeout"}', [("tm-codec", b"native")])
        lane.inbox.flush()
        await until(lambda: lane.inbox.acked == 1, "the control record is there")
        assert [record.value for record in await stage.read(stage.topics.tokens)] == [b'{"control":"timeout"}']


async def _waited(_place: object, _offset: object, acknowledged: Callable[[], Awaitable[None]]) -> None:
    await acknowledged()


def _on_the_way() -> tuple[Lane, SlowPublisher]:
    transaction = cast("Any", SimpleNamespace(commit=_waited))
    slow = SlowPublisher(10_000)
    return slow.lane(InTransactions(transaction, lambda _: None, lambda _: None)), slow


def _committer(clock: Callable[[], float]) -> TransactionCommitter:
    config = SimpleNamespace(worker=SimpleNamespace(stall_timeout_s=60))
    parts: Any = SimpleNamespace(numbers=Numbers(), hooks=Hooks(), config=config, clock=clock)
    return TransactionCommitter(parts, cast("Any", None), 1_000)


async def test_failures_count_from_the_last_transaction_that_came_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the partition itself, and in a row: it may have been another worker's for hours meanwhile."""
    now = [0.0]
    committer, (lane, _) = _committer(lambda: now[0]), _on_the_way()

    async def commit(*_: object) -> None:
        if now[0] != 30:
            raise Unavailable("Kafka is away")

    monkeypatch.setattr(lane.publication, "commit", commit)
    for now[0] in (0, 30, 50, 61, 200, 260):  # at 30 s it comes through
        await committer._commit(lane, Mark(1, 1, ""))
    assert lane.phase is Phase.FAILED
    now[0] = 261
    with pytest.raises(FatalError, match="no commit came through for 60 s"):
        await committer._commit(lane, Mark(1, 1, ""))


async def test_nothing_behind_a_mark_is_sent_with_it() -> None:
    """Else it would be committed with an offset before it, and published again."""
    lane, slow = _on_the_way()
    lane.process([record(0, b'{"delta":"x"}')])
    lane.mark()
    lane.process([record(1, b'{"delta":"y"}')])
    await turns()
    assert (lane.outboxes["events"].begun, slow.topics) == (2, ["events"])


async def test_a_transaction_waits_for_all_that_is_before_its_mark() -> None:
    """Whatever is acknowledged first, and whichever slice it is of."""
    lane, slow = _on_the_way()
    lane.process([record(0, b"{")])
    lane.process([record(1, b'{"delta":"x"}')])
    lane.mark()
    mark = lane.committable()
    assert mark is not None
    ending = asyncio.create_task(in_transactions(lane).commit(lane, mark))
    await turns()
    slow.sent[slow.topics.index("tokens.dlq")].set_result(None)
    await turns()
    assert (ending.done(), lane.committed, lane.in_flight) == (False, None, True)
    slow.sent[slow.topics.index("events")].set_result(None)
    await ending
    assert (lane.committed, lane.in_flight) == (mark, False)


async def test_a_lane_has_one_next_transaction_while_it_is_live() -> None:
    """However often it is woken, and none once the committer ends."""
    lane, _ = _on_the_way()
    own, committer = in_transactions(lane), _committer(lambda: 0.0)
    own.due, lane.phase = 3_600.0, Phase.REPLAYING
    running = asyncio.create_task(committer.run(lambda: [lane]))
    await turns()
    before, lane.phase = own.soon, Phase.LIVE
    committer.wake(lane)
    soon = own.soon
    committer.wake(lane)
    assert soon is not None
    assert (before, own.soon) == (None, soon)
    running.cancel()
    await asyncio.wait([running, soon], timeout=10)
    assert soon.cancelled()
