"""Where a caller begins to read its partitions: each by itself, from its commit or by time."""

import asyncio
from collections.abc import AsyncIterator, Collection
from unittest.mock import AsyncMock, Mock

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import LeaderNotAvailableError
from aiokafka.structs import OffsetAndMetadata

from tests.caller.desk import Desk, Running, request
from tests.caller.model import Model
from tests.support.stage import until
from tokenmill.caller import placing
from tokenmill.caller.offsets import Offsets
from tokenmill.caller.placing import Placing
from tokenmill.errors import Unavailable

PLACE = TopicPartition("requests", 0)


@pytest.fixture
async def desk(kafka: str, unique: str) -> AsyncIterator[Desk]:
    """Topics of the test's own, with two partitions."""
    async with Model({}) as model, Desk(kafka, unique, model.url).open() as desk:
        yield desk


async def talk_on(desk: Desk, number: int) -> str:
    """A conversation whose requests are in this partition."""
    for each in range(64):
        if await desk.producer.partition(desk.topics.requests, b"talk-%d" % each) == number:
            return f"talk-{each}"
    raise AssertionError(number)


@pytest.mark.integration
async def test_a_partition_whose_leader_is_away_holds_up_no_other(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests of other partitions are answered; those of this one are once it has a leader again."""
    led, look_up = asyncio.Event(), AIOKafkaConsumer.end_offsets
    led_later = TopicPartition(desk.topics.requests, 1)

    async def end_offsets(consumer: AIOKafkaConsumer, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        if not led.is_set() and led_later in places:
            raise LeaderNotAvailableError
        found: dict[TopicPartition, int] = await look_up(consumer, places)
        return found

    monkeypatch.setattr(AIOKafkaConsumer, "end_offsets", end_offsets)
    monkeypatch.setattr(placing, "ASSIGNMENT_S", 0.2)

    async def over(*messages: str) -> bool:
        return await desk.over() == {*messages}

    async with Running(desk) as running:
        for number in (0, 1):
            await desk.ask(request(f"m{number}"), conversation=await talk_on(desk, number))
        await until(lambda: over("m0"), "one is answered", 60)
        assert running.count("partitions") == 1
        led.set()
        await until(lambda: over("m0", "m1"), "both are answered", 60)
        assert running.count("partitions") == 2


def log_of(monkeypatch: pytest.MonkeyPatch, committed: int | None, first: int, since: int, *ends: int) -> Mock:
    """A consumer of a partition with this log, whose end is looked up again and again."""
    found = {} if committed is None else {PLACE: OffsetAndMetadata(committed, "")}
    monkeypatch.setattr(placing, "committed_offsets", AsyncMock(return_value=found))
    monkeypatch.setattr(placing, "offsets_since", AsyncMock(return_value={PLACE: since}))
    consumer = Mock(AIOKafkaConsumer)
    consumer.beginning_offsets.return_value = {PLACE: first}
    consumer.end_offsets.side_effect = [{PLACE: end} for end in ends]
    return consumer


@pytest.mark.parametrize(
    ("committed", "first", "since", "end", "begin"),
    [(6, 0, 0, 9, 6), (2, 5, 0, 9, 5), (None, 0, 4, 9, 4), (None, 5, 4, 9, 5), (None, 0, 4, 3, 3)],
    ids=["committed", "deleted", "not committed", "deleted since", "behind the end"],
)
async def test_it_begins_at_what_is_committed_or_may_be_answered(
    monkeypatch: pytest.MonkeyPatch, committed: int | None, first: int, since: int, end: int, begin: int
) -> None:
    """Never outside of the log; what is before its end is inherited. It is paused until then."""
    placed: dict[TopicPartition, Offsets] = {}
    consumer = log_of(monkeypatch, committed, first, since, end)
    await Placing(60, 30, placed.__setitem__, Mock(side_effect=AssertionError)).begin(consumer, [PLACE])
    assert (placed[PLACE].read, placed[PLACE].inherited_until) == (begin, end)
    assert [name for name, *_ in consumer.method_calls if name in ("pause", "seek", "resume")] == [
        "pause",
        "seek",
        "resume",
    ]
    consumer.seek.assert_called_once_with(PLACE, begin)


async def test_an_end_below_what_is_committed_is_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its broker may not have heard of a newer leader yet."""
    placed: dict[TopicPartition, Offsets] = {}
    consumer = log_of(monkeypatch, 6, 0, 0, 3, 9)
    await Placing(60, 30, placed.__setitem__, Mock(side_effect=AssertionError)).begin(consumer, [PLACE])
    assert (placed[PLACE].read, placed[PLACE].inherited_until) == (6, 9)


async def test_what_no_repetition_cures_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends of it; nothing is read."""
    placed: dict[TopicPartition, Offsets] = {}
    consumer, told = log_of(monkeypatch, 6, 0, 0, 9), Mock()
    broken = consumer.seek.side_effect = RuntimeError("broken")
    await Placing(60, 30, placed.__setitem__, told).begin(consumer, [PLACE])
    told.assert_called_once_with(broken)
    assert not placed
    consumer.resume.assert_not_called()


async def test_who_has_lost_a_partition_places_it_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be another's, and its log unavailable for as long as one likes."""
    placed: dict[TopicPartition, Offsets] = {}
    consumer = log_of(monkeypatch, 6, 0, 0)
    consumer.beginning_offsets.side_effect = Unavailable("Kafka: away")
    monkeypatch.setattr(placing, "ASSIGNMENT_S", 0)
    places = Placing(60, 30, placed.__setitem__, Mock(side_effect=AssertionError))
    await places.begin(consumer, [PLACE])
    assert len(places._tasks) == 1
    await places.close()
    assert (len(places._tasks), placed) == (0, {})


async def test_an_assignment_waits_for_no_longer_than_a_heartbeat_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client sends none meanwhile, and the first one an interval later."""
    consumer = log_of(monkeypatch, 6, 0, 0)
    consumer.beginning_offsets.side_effect = Unavailable("Kafka: away")
    places = Placing(60, 0.3, Mock(side_effect=AssertionError), Mock(side_effect=AssertionError))
    async with asyncio.timeout(placing.ASSIGNMENT_S):
        await places.begin(consumer, [PLACE])
    await places.close()
