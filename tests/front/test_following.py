"""One message's events as they come, inside of the front."""

import asyncio
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer, ConsumerRecord

from tests.support.event_log import START_MS, EventLog, of, spoken
from tests.support.gateways import Gate, answer, listening
from tests.support.readings import FAR, NOW, others, reading_of
from tests.support.stage import until
from tokenmill.errors import Unavailable
from tokenmill.front.following import Following, native
from tokenmill.gateway.event_log.conversation import BEHIND_S, Conversation
from tokenmill.gateway.event_log.reading import Since, Start
from tokenmill.gateway.event_log.tail import Tail
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.streams.hub import Hub

pytestmark = pytest.mark.integration


async def followed(gate: Gate, start: Start, frames: list[Frame]) -> None:
    """All frames of the message `m`."""
    async with gate.serving.prepared(native("c", start)) as prepared:
        following = Following(gate.serving.hub, prepared.reading, "m")
        async for frame in following.frames():
            frames.append(frame)  # noqa: PERF401 -- its caller looks at what has come so far


async def test_a_message_is_followed_from_its_beginning_to_its_end(kafka: str, unique: str) -> None:
    """Over the log's head, past other messages, and once where a worker repeats itself."""
    records, other = answer("c", "m", ["Hel", "lo"]), answer("c", "n", ["No"])
    async with listening(kafka, unique) as gate:
        await gate.hear([*other, *records[:2]])
        frames = list[Frame]()
        following = asyncio.create_task(followed(gate, Since(0), frames))
        await until(lambda: len(frames) == 2, "what the log has is read")
        await gate.say([*records[1:3], *answer("c", "o", ["No"]), *records[2:]])
        await asyncio.wait_for(following, 30)
        assert [frame.payload for frame in frames] == [record.value for record in records]


async def test_what_comes_from_now_on_is_followed(kafka: str, unique: str) -> None:
    """For a message that nobody has begun."""
    records = answer("c", "m", ["Hel", "lo"])
    async with listening(kafka, unique) as gate:
        frames = list[Frame]()
        following = asyncio.create_task(followed(gate, "now", frames))
        await until(gate.serving.hub.clients, "it is followed")
        await gate.say(records)
        await asyncio.wait_for(following, 30)
        assert len(frames) == len(records)


async def test_the_past_alone_can_be_asked_for(kafka: str, unique: str) -> None:
    """Up to the head, which need not be the end."""
    records = answer("c", "m", ["Hel", "lo"])
    async with listening(kafka, unique) as gate:
        await gate.hear(records[:3])
        async with gate.serving.prepared(native("c", Since(0))) as prepared:
            past = await Following(gate.serving.hub, prepared.reading, "m").past()
        assert [frame.payload for frame in past] == [record.value for record in records[:3]]
        assert gate.serving.hub.clients() == []


async def test_when_a_message_was_over_is_known(kafka: str, unique: str) -> None:
    """By the time of its last record, whatever came after it; one without an end is not over."""
    records, other = answer("c", "m", ["Hel", "lo"]), answer("c", "n", ["No"])
    last_ms = records[-1].timestamp
    async with listening(kafka, unique) as gate:

        async def was_over(at_ms: int) -> bool:
            async with gate.serving.prepared(native("c", Since(0))) as prepared:
                return await Following(gate.serving.hub, prepared.reading, "m").was_over(at_ms)

        assert not await was_over(last_ms + 1)
        await gate.hear(records[:-1])
        assert not await was_over(last_ms + 1)
        await gate.hear([records[-1], *(msgspec.structs.replace(each, timestamp=last_ms + 9) for each in other)])
        assert [await was_over(last_ms), await was_over(last_ms + 1)] == [False, True]


async def test_the_past_waits_for_a_reader_that_is_behind(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another front may have shown what the log has and our reader has not; records of others keep nobody waiting."""
    records, others = answer("c", "m", ["Hel", "lo"]), answer("d", "n", ["No"])
    go, take = asyncio.Event(), Tail._take

    def late(tail: Tail, partition: int, came: list[ConsumerRecord]) -> None:
        asyncio.get_running_loop().create_task(when_it_may(tail, partition, came))

    async def when_it_may(tail: Tail, partition: int, came: list[ConsumerRecord]) -> None:
        await go.wait()
        take(tail, partition, came)

    async def seen(conversation: Conversation, offset: int) -> None:
        waiting.append(offset)
        await seen_before(conversation, offset)

    waiting, seen_before = list[int](), Conversation._wait_for
    monkeypatch.setattr(Tail, "_take", late)
    monkeypatch.setattr(Conversation, "_wait_for", seen)
    async with listening(kafka, unique) as gate:
        partition = gate.serving.tail.partition_of(b"c")
        async with gate.serving.prepared(native("c", Since(0))) as prepared:
            following = Following(gate.serving.hub, prepared.reading, "m")
            await gate.say(others, partition)
            assert await following.past() == []
            waiting.clear()
            await gate.say(records)
            looking = asyncio.create_task(following.past())
            await until(lambda: waiting, "it waits for the reader")
            go.set()
            assert [frame.payload for frame in await looking] == [record.value for record in records]


class Counted(EventLog):
    """How many records were read of it."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.read_up_to = 0

    async def read(self, *args: Any) -> Any:
        came, after = await super().read(*args)
        self.read_up_to = max(self.read_up_to, after)
        return came, after


YOUNGER = 100
"""Records that are read behind the time of a message."""


async def can_be(log: EventLog, message: str, since_ms: int, until_ms: int, window: int | None = None) -> bool:
    """Whether that may be in the log, for somebody who begins to read at this time."""
    reading = reading_of(log, window=window)
    await reading.begin(Since(since_ms), FAR, NOW)
    return await Following(Hub(), reading, message).can_be(until_ms, YOUNGER)


async def test_a_message_that_was_made_up_costs_no_more_than_its_time() -> None:
    """Wherever that lies in the log; and so many records more, as it may have begun late."""
    log = Counted([*others(40), *of("c", spoken("m", "Hi.")), *others(200)])
    assert not await can_be(log, "made-up", 0, START_MS - 1)
    assert YOUNGER < log.read_up_to < YOUNGER + 20
    assert not await can_be(log, "made-up", START_MS + 40, START_MS + 60)
    assert log.read_up_to < 340 + YOUNGER < log.end
    log.read_up_to = 0
    assert await can_be(log, "made-up", NOW + 1, NOW + 2)
    assert await can_be(log, "made-up", 0, START_MS - 1, window=0)
    assert log.read_up_to == 0


async def test_a_message_that_is_there_may_be_found() -> None:
    """In its time; up to the log's end if nothing is younger."""
    log = EventLog([*others(40), *of("c", spoken("m", "Hi."))])
    assert await can_be(log, "m", 0, NOW)
    assert not await can_be(log, "n", 0, NOW)


async def test_a_message_that_began_late_may_be_found() -> None:
    """As failed, when callers came back after an outage that was longer than an answer may take."""
    log = EventLog([*others(8), *of("c", spoken("m", "Hi."))])
    assert await can_be(log, "m", START_MS - 2_000, START_MS - 1_000)


async def test_a_wrong_clock_hides_no_message() -> None:
    """Records of others from a time to come lie before it."""
    log = EventLog([*others(40), *of("c", spoken("m", "Hi."))])
    for number in (6, 13):  # the last ones of the first two turns
        log.records[number] = log.records[number]._replace(timestamp=NOW * 2)
    times = {each.offset: each.timestamp for each in log.records}

    async def time_before(_partition: int, offset: int) -> int:
        return max((at, time_ms) for at, time_ms in times.items() if at < offset)[1]

    log.time_before = time_before  # type: ignore[method-assign] # of the last record, as a log has it
    assert await can_be(log, "m", 0, START_MS + 1_000)


async def test_an_answer_opens_with_the_first_event_that_is_known() -> None:
    """A newer worker may publish others before it."""
    log = EventLog(of("c", spoken("m", "Hi.")))
    log.records[1] = log.records[1]._replace(value=b'{"type":"brand-new","choice":0}')
    reading = reading_of(log)
    await reading.begin(Since(0), FAR, NOW)
    following = Following(Hub(), reading, "m")
    await following.opened(1)
    assert following.opening.content


async def test_who_knows_how_to_answer_follows_no_longer() -> None:
    """Events that come after that would be kept for nobody."""
    hub, log = Hub(), EventLog()
    reading = reading_of(log)
    await reading.begin("now", FAR, NOW)
    opening = asyncio.create_task(Following(hub, reading, "m").opened(30))
    await until(hub.clients, "it is followed")
    log.say(of("c", spoken("m", "Hi.")))
    hub.dispatch(log.entries())
    await opening
    assert hub.clients() == []


async def test_the_marker_of_a_transaction_is_the_end_of_a_log(kafka: str, unique: str) -> None:
    """No record comes behind it, and nobody waits for one."""
    async with (
        listening(kafka, unique) as gate,
        AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=f"following-{unique}") as producer,
    ):
        partition = gate.serving.tail.partition_of(b"c")
        async with gate.serving.prepared(native("c", Since(0))) as prepared:
            following = Following(gate.serving.hub, prepared.reading, "nobody")
            for commits in (True, False):
                await producer.begin_transaction()
                await producer.send_and_wait(f"events-{unique}", b"{}", key=b"d", partition=partition)
                await (producer.commit_transaction() if commits else producer.abort_transaction())
                async with asyncio.timeout(BEHIND_S):
                    assert await following.past() == []


async def test_who_follows_hears_when_it_can_not_go_on(kafka: str, unique: str) -> None:
    """The process ends, or the log is another one."""
    async with listening(kafka, unique) as gate:
        for end in ("send_home", "lose"):
            following = asyncio.create_task(followed(gate, "now", []))
            await until(gate.serving.hub.clients, "it is followed")
            (client,) = gate.serving.hub.clients()
            getattr(client, end)()
            with pytest.raises(Unavailable, match="can't be read any more"):
                await asyncio.wait_for(following, 30)
