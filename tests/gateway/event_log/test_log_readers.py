"""What lies before the window, on a real Kafka."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import RecordsToDelete

from tests.support.event_log import START_MS, EventLog, of, spoken
from tests.support.stage import until
from tests.support.topics import admin_of, make_topics
from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.gateway.event_log import log_readers
from tokenmill.gateway.event_log.entry import Entry
from tokenmill.gateway.event_log.log_readers import DeletedByRetention, LogReaders

pytestmark = pytest.mark.integration


@asynccontextmanager
async def readers_of(bootstrap: str, topic: str, count: int = 2) -> AsyncIterator[LogReaders]:
    readers = LogReaders(Kafka(bootstrap_servers=bootstrap), topic, count)
    try:
        yield readers
    finally:
        await readers.close()


@pytest.fixture
async def log(kafka: str, unique: str) -> EventLog:
    """A partition of a topic `past-…` with several conversations."""
    log = EventLog([chunk for number in range(30) for chunk in of(f"c{number % 5}", spoken(f"m{number}", "Hello."))], 1)
    await make_topics(kafka, f"past-{unique}", partitions=2)
    await log.publish(kafka, f"past-{unique}", 1)
    return log


async def read_all(readers: LogReaders, start: int, end: int, key: bytes) -> list[Entry]:
    found: list[Entry] = []
    while start < end:
        came, start = await readers.of("").read(1, start, key)
        found += came
    return found


async def test_a_conversation_is_read_from_any_offset_on(kafka: str, unique: str, log: EventLog) -> None:
    """And only that one."""
    expected = [(entry.offset, entry.value, entry.seq, entry.opened) for entry in log.entries() if entry.key == b"c3"]
    async with readers_of(kafka, f"past-{unique}") as readers:
        for start in (0, expected[2][0], expected[2][0] + 1):
            found = await read_all(readers, start, log.end, b"c3")
            assert [(e.offset, e.value, e.seq, e.opened) for e in found] == [e for e in expected if e[0] >= start]
        assert await readers.of("").bounds(1) == (0, log.end)
        assert await readers.of("").bounds(0) == (0, 0)


async def test_no_more_is_waited_for_than_is_wanted(
    kafka: str, unique: str, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the conversation follows, and the log ends; or the first record is all that somebody wants to see."""
    monkeypatch.setattr("tokenmill.gateway.event_log.log_readers.TURN_S", 60)
    async with readers_of(kafka, f"past-{unique}") as readers, asyncio.timeout(30):
        assert await readers.of("").read(1, 1, b"nobody", stop=log.end) == ([], log.end)
        assert await readers.of("").read(1, 0, b"nobody", stop=1, most=1) == ([], 1)
        came, after = await readers.of("").read(1, 0, log.records[0].key or b"", most=2)
        assert [entry.offset for entry in came] == list(range(after))
        assert after <= 2


async def test_a_time_leads_to_the_first_record_that_is_not_older(kafka: str, unique: str, log: EventLog) -> None:
    """Before all of them to the first, behind all of them to none."""
    middle = log.records[len(log.records) // 2]
    first = next(record.offset for record in log.records if record.timestamp >= middle.timestamp)
    async with readers_of(kafka, f"past-{unique}") as readers:
        assert await readers.of("").since(1, middle.timestamp) == first
        assert await readers.of("").since(1, -5) == 0
        assert await readers.of("").since(1, START_MS + 10**9) is None


async def test_a_broker_that_can_not_look_up_by_time_is_no_empty_log(
    kafka: str, unique: str, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says that no record is younger; the last ones show that there are some, and all is read then."""

    async def none(_: AIOKafkaConsumer, times: dict[TopicPartition, int]) -> dict[TopicPartition, None]:
        return dict.fromkeys(times)

    monkeypatch.setattr(AIOKafkaConsumer, "offsets_for_times", none)
    async with readers_of(kafka, f"past-{unique}") as readers:
        assert await readers.of("").since(1, log.records[-1].timestamp) == 0
        assert await readers.of("").since(1, log.records[-1].timestamp + 1) is None
        assert await readers.of("").since(0, 0) is None


async def test_many_take_turns_with_few_consumers(kafka: str, unique: str, log: EventLog) -> None:
    """Everybody gets all of it; there are never more consumers than the cap."""
    async with readers_of(kafka, f"past-{unique}", count=2) as readers:
        found = await asyncio.gather(*(read_all(readers, 0, log.end, b"c%d" % (n % 5)) for n in range(12)))
        assert [len(each) for each in found] == [
            sum(entry.key == b"c%d" % (n % 5) for entry in log.entries()) for n in range(12)
        ]
        assert len(readers._free) == 2
        assert all(free.paused() == free.assignment() for free in readers._free)  # or they would go on fetching


async def test_clients_that_come_and_go_make_no_more_consumers(kafka: str, unique: str, log: EventLog) -> None:
    """A place is taken as long as what was begun in it goes on, whether somebody waits for it or not."""
    async with readers_of(kafka, f"past-{unique}", count=2) as readers:
        for _ in range(20):
            hasty = [asyncio.create_task(readers.of("").read(1, 0, b"c0")) for _ in range(3)]
            await asyncio.sleep(0.005)
            for task in hasty:
                task.cancel()
            await asyncio.wait(hasty)
            assert len(readers._unfinished) <= 2
        assert len(await read_all(readers, 0, log.end, b"c0")) > 0
        assert len(readers._free) <= 2


async def test_a_consumer_that_reads_nothing_any_more_is_given_up(kafka: str, unique: str, log: EventLog) -> None:
    """Its fetching has ended while it was free, or in the middle of a turn, which is not taken for the log's end."""
    async with readers_of(kafka, f"past-{unique}", count=1) as readers:
        await readers.of("").bounds(1)
        (free,) = readers._free
        await _deafen(free)
        assert len(await read_all(readers, 0, log.end, b"c0")) > 0
        assert len(readers._free) == 1
        assert free not in readers._free
        with pytest.raises(Unavailable, match="fetching task has ended"):
            await _turn_that_deafens(readers, TopicPartition(f"past-{unique}", 1))
        assert readers._free == []


async def _turn_that_deafens(readers: LogReaders, place: TopicPartition) -> None:
    async with readers.reader(place, "") as consumer:
        await _deafen(consumer)


async def _deafen(consumer: AIOKafkaConsumer) -> None:
    consumer._fetcher._fetch_task.cancel()
    await asyncio.wait([consumer._fetcher._fetch_task])


async def test_a_kafka_that_is_away_is_said_so() -> None:
    """Within a deadline."""
    async with readers_of("127.0.0.1:1", "events") as readers:
        with pytest.raises(Unavailable, match=r"Kafka at 127\.0\.0\.1:1 can't be reached"):
            await readers.of("").bounds(0)


@pytest.mark.usefixtures("log")
async def test_a_name_that_reads_much_keeps_no_other_waiting(kafka: str, unique: str) -> None:
    """However many of its readings wait, another name's comes next but one."""
    order: list[str] = []

    async def read(readers: LogReaders, name: str) -> None:
        await readers.of(name).read(1, 0, b"c0")
        order.append(name)

    async with readers_of(kafka, f"past-{unique}", count=1) as readers, asyncio.TaskGroup() as group:
        for _ in range(12):
            group.create_task(read(readers, "ann"))
        await asyncio.sleep(0)
        group.create_task(read(readers, "bob"))
        group.create_task(read(readers, ""))
    assert max(order.index("bob"), order.index("")) <= 4
    assert len(order) == 14


async def test_retention_that_has_come_to_a_place_is_told_from_a_hole(kafka: str, unique: str, log: EventLog) -> None:
    """With where the log begins now; also where nothing is left of it."""
    place = TopicPartition(f"past-{unique}", 1)
    async with readers_of(kafka, f"past-{unique}") as readers:
        for first in (log.end // 2, log.end):
            async with admin_of(kafka) as admin:
                await admin.delete_records({place: RecordsToDelete(first)})
            with pytest.raises(DeletedByRetention) as passed:
                await readers.of("").read(1, first - 1, b"c3")
            assert passed.value.first == first
            assert (await readers.of("").read(1, first, b"c3"))[1] == log.end


async def test_a_place_has_the_time_of_the_record_before_it(kafka: str, unique: str, log: EventLog) -> None:
    """Whoever's it is; before the first one there is none."""
    async with readers_of(kafka, f"past-{unique}") as readers:
        for offset in (1, 60, log.end):
            assert await readers.of("").time_before(1, offset) == log.records[offset - 1].timestamp
        assert [await readers.of("").time_before(1, 0), await readers.of("").time_before(0, 0)] == [0, 0]


async def test_a_poll_without_anything_does_not_say_that_there_is_no_record(
    kafka: str, unique: str, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection may just be made: the time of no record would have all of a partition read."""
    polls, wait = 0, 2
    getmany = AIOKafkaConsumer.getmany

    async def late(consumer: AIOKafkaConsumer, *places: TopicPartition, **more: Any) -> Any:
        nonlocal polls
        polls += 1
        return await getmany(consumer, *places, **more) if polls > wait else {}

    monkeypatch.setattr(AIOKafkaConsumer, "getmany", late)
    async with readers_of(kafka, f"past-{unique}") as readers:
        assert await readers.of("").time_before(1, 3) == log.records[2].timestamp
        polls, wait = 0, 1_000_000
        monkeypatch.setattr(log_readers, "ANSWER_S", 0.1)
        with pytest.raises(Unavailable, match="no record"):
            await readers.of("").time_before(1, 3)


async def test_a_kafka_that_brings_nothing_is_away_at_last(
    kafka: str, unique: str, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A poll raises nothing then: whoever reads up to an end would read the same place again and again."""

    async def nothing(*_: object, **__: object) -> dict[Any, Any]:
        return {}

    async with readers_of(kafka, f"past-{unique}") as readers:
        reader = readers.of("")
        monkeypatch.setattr(AIOKafkaConsumer, "getmany", nothing)
        monkeypatch.setattr(log_readers, "TURN_S", 0.001)
        for _ in range(1, log_readers.EMPTY_TURNS):
            assert await reader.read(1, 3, b"c0", log.end) == ([], 3)
        with pytest.raises(Unavailable, match="nothing came from offset 3 on"):
            await reader.read(1, 3, b"c0", log.end)
        monkeypatch.undo()
        assert await reader.read(1, 3, b"nobody", log.end) == ([], log.end)


async def test_a_partition_that_does_not_answer_keeps_nobody_of_another_waiting(
    kafka: str, unique: str, log: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many ask for it: those that have no turn yet are refused, and one at a time finds out when it does."""
    dead, asked, beginning_offsets = {0}, list[int](), AIOKafkaConsumer.beginning_offsets

    async def ask(consumer: AIOKafkaConsumer, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        asked.extend(place.partition for place in places)
        if asked[-1] in dead:
            await asyncio.Event().wait()
        found: dict[TopicPartition, int] = await beginning_offsets(consumer, places)
        return found

    async with readers_of(kafka, f"past-{unique}") as readers:
        await asyncio.gather(readers.of("").bounds(1), readers.of("").bounds(1))  # both readers are connected
        monkeypatch.setattr(AIOKafkaConsumer, "beginning_offsets", ask)
        monkeypatch.setattr(log_readers, "ANSWER_S", 1)
        asking = [asyncio.create_task(readers.of("").bounds(0)) for _ in range(20)]
        async with asyncio.timeout(10):
            await asyncio.sleep(0)
            assert await readers.of("").bounds(1) == (0, log.end)
            assert {type(each) for each in await asyncio.gather(*asking, return_exceptions=True)} == {Unavailable}
        assert asked.count(0) == 2
        with pytest.raises(Unavailable, match="does not answer"):
            await readers.of("").since(0, 0)
        dead.clear()
        await until(lambda: readers._unresponsive._until[0] < monotonic(), "it may be asked again")
        assert await readers.of("").bounds(0) == (0, 0)
