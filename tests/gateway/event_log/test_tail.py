"""The one reader of the log's head, on a real Kafka."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.support.event_log import EventLog, frames_of, of, spoken
from tests.support.pipes import FakePipe, stream_of
from tests.support.stage import until
from tests.support.topics import grow_topics, make_anew, make_topics
from tokenmill.config import Kafka
from tokenmill.dialects.native import NATIVE
from tokenmill.errors import FatalError, Unavailable
from tokenmill.gateway.event_log import tail as module
from tokenmill.gateway.event_log.tail import Tail
from tokenmill.gateway.event_log.view import View
from tokenmill.gateway.event_log.window import Window, Windows
from tokenmill.gateway.streams.framing import SSE
from tokenmill.gateway.streams.hub import Hub, Subject
from tokenmill.gateway.streams.stream import Stream
from tokenmill.kafka.calls import deadline
from tokenmill.tasks import beside

pytestmark = pytest.mark.integration

LOG = EventLog([chunk for name in ("a", "b") for chunk in of(name, spoken("m", "Hello."))], 1)


class Rig:
    """A tail that runs, and what it fills."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.windows, self.hub = Windows(1 << 30, 1e9), Hub()
        self.told = list[int]()
        self.tail = Tail(Kafka(bootstrap_servers=bootstrap), topic, self.windows, self.hub, self.told.extend)

    @asynccontextmanager
    async def window(self, partition: int) -> AsyncIterator[Window]:
        """The partition's window, as somebody has it who reads."""
        window = await self.tail.pin(partition)
        try:
            yield window
        finally:
            self.tail.unpin(partition)

    def client(self, partition: int, key: bytes) -> Stream:
        """One who is at the head."""
        stream = stream_of(FakePipe(), cap=1 << 20)
        self.hub.attach(Subject(partition, key, NATIVE, SSE), View(NATIVE, partition), stream)
        return stream


@asynccontextmanager
async def running(bootstrap: str, topic: str) -> AsyncIterator[Rig]:
    rig = Rig(bootstrap, topic)
    await rig.tail.start(30)
    task = asyncio.create_task(rig.tail.run())
    try:
        yield rig
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await rig.tail.stop()


@pytest.fixture
async def topic(kafka: str, unique: str) -> str:
    await make_topics(kafka, f"tail-{unique}", partitions=3)
    return f"tail-{unique}"


def taken(stream: Stream) -> bytes:
    stream.outbox.flush(0)
    assert isinstance(stream.outbox._pipe, FakePipe)
    return stream.outbox._pipe.taken


async def test_what_comes_is_told_and_kept(kafka: str, topic: str) -> None:
    """Of partitions that somebody waits on, from their ends on."""
    await LOG.publish(kafka, topic, 1)
    async with running(kafka, topic) as rig, rig.window(1) as window:
        end = len(LOG.records)
        assert (window.first, window.end) == (end, end)
        client = rig.client(1, b"a")
        await LOG.publish(kafka, topic, 1)
        await until(lambda: window.end == 2 * end, "everything is read", 20)
        assert [entry.value for entry in window.of(b"b", 0)[0]] == [r.value for r in LOG.records if r.key == b"b"]
        assert taken(client).count(b"data:") == len(frames_of(LOG.entries(), NATIVE, b"a"))
        assert rig.windows.get(0) is None
        assert not client.over.done()
        assert rig.told == [record.timestamp for record in LOG.records if record.key == b"a"]


async def test_it_reads_what_is_committed(kafka: str, topic: str, unique: str) -> None:
    """In front of an open transaction nothing is seen; what was aborted never is, and its place is passed."""
    producer = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=f"tail-{unique}")
    await producer.start()
    try:
        async with running(kafka, topic) as rig, rig.window(0) as window:
            for commits in (False, True):
                await producer.begin_transaction()
                for each in LOG.records:
                    await producer.send(topic, each.value, key=each.key, headers=list(each.headers), partition=0)
                await producer.flush()
                await (producer.commit_transaction() if commits else producer.abort_transaction())
            await until(lambda: window.end > 2 * len(LOG.records), "the second is read", 20)
            assert len(window.of(b"a", 0)[0]) + len(window.of(b"b", 0)[0]) == len(LOG.records)
            assert window.of(b"a", 0)[0][0].offset > len(LOG.records)
    finally:
        await producer.stop()


async def test_a_partition_that_nobody_reads_is_let_go_of(
    kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a while; one that is read is not, and who comes back begins at its end."""
    monkeypatch.setattr(module, "IDLE_S", 0.2)
    monkeypatch.setattr(module, "GROWTH_S", 0.1)
    async with running(kafka, topic) as rig, rig.window(0):
        async with rig.window(1) as window:
            await LOG.publish(kafka, topic, 1)
            await until(lambda: window.end == len(LOG.records), "everything is read", 20)
        await until(lambda: rig.windows.get(1) is None, "it is let go of", 20)
        assert window.dropped
        assert rig.windows.get(0) is not None
        async with rig.window(1) as again:
            assert (again.first, again.end) == (len(LOG.records), len(LOG.records))


async def test_a_partition_is_kept_for_who_comes_back_soon() -> None:
    """A page that is reloaded: its window would be empty, and all of the answer read from the log."""
    rig = Rig("nobody:1", "events")
    rig.windows.open(0, 7)
    rig.tail._pins[0] += 1
    rig.tail.unpin(0)
    rig.tail._let_go()
    assert rig.windows.get(0) is not None


async def test_records_that_lie_before_a_window_are_not_of_it() -> None:
    """They were fetched before it was opened at the log's end; its readers have them from the log."""
    rig = Rig("nobody:1", "events")
    window = rig.windows.open(1, 4)
    rig.tail._take(1, LOG.records[:6])
    assert (window.first, window.end, rig.windows.records) == (4, 6, 2)
    assert [entry.offset for entry in (*window.of(b"a", 0)[0], *window.of(b"b", 0)[0])] == [4, 5]


async def test_who_leaves_while_a_partition_is_looked_for_takes_nobody_along() -> None:
    """The look is everybody's."""
    answers = asyncio.Event()

    class Asked(Tail):
        async def _count(self) -> int:
            await answers.wait()
            return 0

    tail = Asked(Kafka(), "events", Windows(1, 1), Hub(), list[int]().extend)
    first, second = (asyncio.create_task(tail.has(9)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    answers.set()
    assert await second is False


async def test_a_record_is_too_old_also_where_no_more_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a quiet partition would keep its records for as long as it has readers."""
    monkeypatch.setattr(module, "GROWTH_S", 0)

    class Quiet(Tail):
        async def _answered(self) -> int:
            return 0

    tail = Quiet(Kafka(), "events", windows := Windows(1 << 20, 0.01), Hub(), list[int]().extend)
    windows.open(0, 0)
    windows.add(0, EventLog(of("c", spoken("m", "Hi."))).entries(), 9, time.monotonic())
    tail._pins[0] += 1
    assert windows.records
    async with beside(tail._tend(), "the tail"):
        await until(lambda: not windows.records, "they are dropped")


async def test_kafka_is_not_waited_for_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams wait; a process that is started anew may find what this one can't."""

    async def away(_: Tail) -> int:
        raise Unavailable("Kafka is away")

    monkeypatch.setattr(Tail, "_count", away)
    tail, now = Rig("nobody:1", "events").tail, asyncio.get_running_loop().time()
    tail.polled_at = now - module.AWAY_S / 2
    assert await tail._answered() == 0
    tail.polled_at = now - module.AWAY_S - 1
    with pytest.raises(Unavailable, match="Kafka is away"):
        await tail._answered()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Partitions whose ends were looked up; number 0 does not answer."""
    asked, end_offsets = list[int](), AIOKafkaConsumer.end_offsets

    async def ask(consumer: AIOKafkaConsumer, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        asked.extend(place.partition for place in places)
        if asked[-1] == 0:
            await asyncio.Event().wait()
        found: dict[TopicPartition, int] = await end_offsets(consumer, places)
        return found

    monkeypatch.setattr(AIOKafkaConsumer, "end_offsets", ask)
    return asked


async def test_a_partition_that_does_not_answer_keeps_nobody_of_another_waiting(
    kafka: str, topic: str, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked once for all who wait for it, who hear of it within one deadline, also when the first has left."""
    monkeypatch.setattr(module, "deadline", partial(deadline, seconds=3))
    async with running(kafka, topic) as rig:
        waiting = [asyncio.create_task(rig.tail.pin(0)) for _ in range(3)]
        async with asyncio.timeout(10), rig.window(1), rig.window(1):
            await LOG.publish(kafka, topic, 1)
        waiting[0].cancel()
        said = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(each) for each in said] == [asyncio.CancelledError, Unavailable, Unavailable]
        assert rig.tail._pins[0] == 0
        assert sorted(asked) == [0, 1]


async def test_partitions_that_are_added_are_read(kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing of the others is missed or comes twice."""
    monkeypatch.setattr(module, "GROWTH_S", 0.1)
    async with running(kafka, topic) as rig, rig.window(0) as window:
        client = rig.client(0, b"a")
        await LOG.publish(kafka, topic, 0)
        await grow_topics(kafka, topic, partitions=5)
        await until(lambda: rig.tail.partitions == 5, "they are known", 30)
        await LOG.publish(kafka, topic, 0)
        async with rig.window(4) as other:
            await LOG.publish(kafka, topic, 4)
            await until(lambda: other.end == len(LOG.records), "the new one is read", 20)
        await until(lambda: window.end == 2 * len(LOG.records), "the old one is read", 20)
        assert len(window.of(b"a", 0)[0]) == 2 * sum(record.key == b"a" for record in LOG.records)
        assert taken(client).count(b"data:") == sum(record.key == b"a" for record in LOG.records)


async def test_who_reads_a_log_that_is_another_one_now_is_told(kafka: str, topic: str) -> None:
    """Its window is of no use to anybody, and a new one begins at the end of the new log."""
    async with running(kafka, topic) as rig, rig.window(0) as window:
        client = rig.client(0, b"a")
        await LOG.publish(kafka, topic, 0)
        await until(lambda: window.end == len(LOG.records), "everything is read", 20)
        await make_anew(kafka, topic, 3)
        assert await asyncio.wait_for(client.over, 60) == "lost"
        assert window.dropped
        async with rig.window(0) as fresh:
            assert (fresh.first, fresh.dropped) == (0, False)


async def test_a_topic_that_shrank_ends_the_reader(kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversations lie elsewhere now: everything begins anew."""
    monkeypatch.setattr(module, "GROWTH_S", 0.1)
    rig = Rig(kafka, topic)
    await rig.tail.start(30)
    task = asyncio.create_task(rig.tail.run())
    try:
        await make_anew(kafka, topic, 2)
        with pytest.raises(ExceptionGroup) as group:
            await asyncio.wait_for(task, 60)
        assert group.group_contains(Unavailable, match="partitions, and had 3")
    finally:
        task.cancel()
        with contextlib.suppress(BaseException):
            await task
        await rig.tail.stop()


async def test_a_client_that_reads_nothing_any_more_ends_the_reader(kafka: str, topic: str) -> None:
    """Its fetching has ended, and its polls would find nothing from then on."""
    rig = Rig(kafka, topic)
    await rig.tail.start(30)
    task = asyncio.create_task(rig.tail.run())
    try:
        rig.tail._started()._fetcher._fetch_task.cancel()
        with pytest.raises(ExceptionGroup) as group:
            await asyncio.wait_for(task, 20)
        assert group.group_contains(FatalError, match="fetching task has ended")
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await rig.tail.stop()


async def test_a_broker_that_lags_behind_a_growth_ends_nothing(
    kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It says fewer partitions than another one has said, and soon knows better."""
    monkeypatch.setattr(module, "GROWTH_S", 0.02)
    said = [2, 2, 3, 2, 2, 3]

    async def count(_: Tail) -> int:
        return said.pop(0) if len(said) > 1 else said[0]

    async with running(kafka, topic) as rig, rig.window(0) as window:
        monkeypatch.setattr(Tail, "_count", count)
        await until(lambda: len(said) == 1, "all was said", 20)
        await LOG.publish(kafka, topic, 0)
        await until(lambda: window.end == len(LOG.records), "everything is read", 20)
        assert rig.tail.partitions == 3
    assert sum("2 partitions, and had 3" in message for message in caplog.messages) == 4


async def test_a_partition_that_is_not_known_is_looked_for_once_for_all(
    kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not again at once: ids can be forged. One that is there by then is found."""
    monkeypatch.setattr(module, "GROWTH_S", 3_600)
    monkeypatch.setattr(module, "LOOK_AGAIN_S", 0.3)
    asked, count = list[float](), Tail._count

    async def counted(tail: Tail) -> int:
        asked.append(asyncio.get_running_loop().time())
        return await count(tail)

    async with running(kafka, topic) as rig, rig.window(0) as window:
        monkeypatch.setattr(Tail, "_count", counted)
        assert await asyncio.gather(*map(rig.tail.has, [0, 2, 3, 4, 10**9])) == [True, True, False, False, False]
        assert len(asked) == 1
        await grow_topics(kafka, topic, partitions=5)
        await until(lambda: rig.tail.has(4), "it is found", 20)
        assert asked[1] - asked[0] > 0.25
        await LOG.publish(kafka, topic, 0)
        await until(lambda: window.end == len(LOG.records), "what was read is read on", 20)


async def test_a_topic_that_does_not_exist_is_said_with_what_makes_it(kafka: str, unique: str) -> None:
    """Nobody waits for it, and nobody has to stop what did not start."""
    rig = Rig(kafka, f"nothing-{unique}")
    with pytest.raises(FatalError, match="topics create"):
        await rig.tail.start(30)
    assert rig.tail._started()._closed


async def test_a_conversation_is_where_producers_put_it(kafka: str, topic: str) -> None:
    """By the same hash of its id."""
    async with running(kafka, topic) as rig:
        producer = AIOKafkaProducer(bootstrap_servers=kafka)
        await producer.start()
        try:
            for key in (b"a", b"conversation-7", "grün".encode(), b"\x00" * 1_000):
                sent = await producer.send_and_wait(topic, b"{}", key=key)
                assert rig.tail.partition_of(key) == sent.partition
        finally:
            await producer.stop()
