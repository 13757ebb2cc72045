"""What becomes of answers that another caller may have begun: the log alone decides."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.caller.desk import LEASE_S, Desk, inherited, request
from tests.support.stage import until
from tokenmill.caller.answer import END_S, TAKEOVER, Answer
from tokenmill.caller.inheritance import DEAF_MS, Inheritance, ReceivedRequest
from tokenmill.caller.writing import RANGE, RANGES
from tokenmill.codecs import Chunk
from tokenmill.config.front import LONGEST_ANSWER_S
from tokenmill.errors import Unavailable
from tokenmill.gateway.ingest.in_flight import unavailable
from tokenmill.gateway.problems import TOO_LARGE, Refused
from tokenmill.records import header

pytestmark = pytest.mark.integration

NOWHERE = "http://127.0.0.1:9"


def overdue(message_id: str) -> ReceivedRequest:
    """A request whose time is over, so that no caller writes anything of it any more."""
    until_ms = int((time.time() - END_S) * 1000)
    return msgspec.structs.replace(inherited(message_id), request=request(message_id, until=until_ms))


@pytest.fixture
async def desk(kafka: str, unique: str) -> AsyncIterator[Desk]:
    """Topics of the test's own."""
    async with Desk(kafka, unique, NOWHERE).open() as desk:
        yield desk


async def test_what_has_ended_is_over(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once: the end is in the log, however old. No lease is waited for."""
    monkeypatch.setattr("tests.caller.desk.LEASE_S", 60.0)
    writer = await desk.wrote("m1", "all")
    await writer.put(Chunk(finish_reason="stop", end=True))
    await writer.acknowledged()
    (found,) = await desk.settled(inherited("m1"))
    assert (found.fate, found.answer) == ("over", None)
    assert found.seconds < 30


async def test_what_is_alive_is_left_to_whoever_writes_it(desk: Desk) -> None:
    """Signs of life are enough, for longer than a lease; then its end is waited for."""
    writer = await desk.wrote("m1", "a")
    settling = asyncio.create_task(desk.settled(inherited("m1")))

    async def beaten() -> bool:
        await writer.beat()
        return asyncio.get_running_loop().time() > enough

    enough = asyncio.get_running_loop().time() + 2.5 * LEASE_S
    await until(beaten, "signs of life for so long")
    assert not settling.done()
    await writer.put(Chunk(finish_reason="stop", end=True))
    assert (await settling)[0].fate == "over"
    assert await desk.told() == {"m1": ["a", "[stop]"]}


async def test_silence_counts_while_somebody_listens(desk: Desk) -> None:
    """What is old when it is found may have a caller that could not write, or whose clock is another one."""
    await desk.wrote("m1", "a")
    found = await desk.settled(inherited("m1", age_s=60), inherited("m2", age_s=60))
    assert [each.fate for each in found] == ["failed", "called-again"]
    assert min(each.seconds for each in found) > LEASE_S


async def test_silence_is_noticed_however_long_an_empty_fetch_may_wait(desk: Desk) -> None:
    """The operator's time is one for members of groups: this reader needs Kafka's answers sooner."""
    waiting = msgspec.structs.replace(desk.config.kafka, consumer={"fetch_max_wait_ms": 5_000, "client_rack": "far"})
    desk.config = msgspec.structs.replace(desk.config, kafka=waiting)
    async with asyncio.timeout(10):
        (found,) = await desk.settled(inherited("m1"))
    assert found.fate == "called-again"


async def test_signs_of_life_count_as_long_as_a_caller_would_write_any(desk: Desk) -> None:
    """Anybody may write them for ever, and the request would hold back what is committed."""
    writer = await desk.wrote("m1", "a")
    settling = asyncio.create_task(desk.settled(overdue("m1")))

    async def beaten() -> bool:
        await writer.beat()
        return settling.done()

    await until(beaten, "it is taken over")
    (found,) = await settling
    assert (found.fate, found.seconds > LEASE_S) == ("failed", True)


@pytest.mark.parametrize("ahead_s", [-60, 0, 1e10])
async def test_no_request_gives_an_answer_more_time_than_there_is_for_any(desk: Desk, ahead_s: float) -> None:
    """Anybody may write one, with any time as that of its record, and it holds back what is committed. Who takes its
    answer over has no more time.
    """
    asked_ms = int((time.time() + ahead_s) * 1000)
    one = ReceivedRequest("c", request("m1", until=16**12 - 1), 0, asked_ms)
    end_ms = min(asked_ms, one.read_ms) + LONGEST_ANSWER_S * 1000
    assert (one.until_ms, one.over_ms) == (end_ms, end_ms + END_S * 1000)
    assert one.read_ms <= time.time() * 1000
    assert desk.answer(one, 1)._until == end_ms / 1000


async def test_behind_the_last_range_an_answer_has_failed(desk: Desk) -> None:
    """Nobody can write its end any more, and nobody waits for it."""
    last = desk.writer("m1", attempt=RANGES - 1)
    await last.open({"format": "plain"}, 1)
    await last.acknowledged()
    (found,) = await desk.settled(inherited("m1"))
    assert (found.fate, found.answer) == ("failed", None)


async def test_who_could_not_be_heard_was_not_silent(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """While Kafka does not answer nobody can write; a lease begins when it does."""
    answers, really, clock = asyncio.Event(), Inheritance._is_at_end, asyncio.get_running_loop().time
    deaf = list[float]()

    async def hears(consumer: AIOKafkaConsumer, place: TopicPartition) -> bool:
        if answers.is_set():
            return await really(consumer, place)
        deaf.append(clock())
        return False

    monkeypatch.setattr(Inheritance, "_is_at_end", staticmethod(hears))
    await desk.wrote("m1")
    settling = asyncio.create_task(desk.settled(inherited("m1")))
    await asyncio.wait([settling], timeout=3 * LEASE_S)
    answers.set()
    await settling
    assert clock() - deaf[-1] > LEASE_S


async def test_kafka_is_heard_when_it_has_just_said_where_the_log_ends() -> None:
    """And all of it is read: what it said a while ago says nothing of who has been silent since."""
    place, ago_ms, end, position = TopicPartition("tokens", 0), 0.0, 5, 5
    said: Any = SimpleNamespace(last_stable_offset=lambda _: end, position=lambda _: asyncio.sleep(0, position))
    said.last_poll_timestamp = lambda _: time.time() * 1000 - ago_ms
    assert await Inheritance._is_at_end(said, place)
    position = 4
    assert not await Inheritance._is_at_end(said, place)
    position, ago_ms = 5, DEAF_MS + 1
    assert not await Inheritance._is_at_end(said, place)


async def test_a_client_that_reads_nothing_any_more_is_given_up(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fetching has ended, so it hears nobody; another one may."""
    place = Inheritance._place

    async def placed(inheritance: Inheritance, consumer: AIOKafkaConsumer, since_ms: int) -> None:
        await place(inheritance, consumer, since_ms)
        consumer._fetcher._fetch_task.cancel()

    monkeypatch.setattr(Inheritance, "_place", placed)
    await desk.wrote("m1")
    with pytest.raises(Unavailable, match="fetching task has ended"):
        await asyncio.wait_for(desk.settled(inherited("m1")), 30)


async def test_what_has_brought_nothing_is_asked_for_again(desk: Desk) -> None:
    """In the next range, by a record that names its writer; what the one before still writes has no effect."""
    before = await desk.wrote("m1")
    (found,) = await desk.settled(inherited("m1"))
    assert (found.fate, found.text) == ("called-again", "")
    assert found.answer is not None
    record = (await desk.records())[-1]
    assert header(record.headers, TAKEOVER)
    await before.put(Chunk(delta="late"))
    await found.answer.put(Chunk(delta="new"))
    await found.answer.put(Chunk(finish_reason="stop", end=True))
    await found.answer.writer.acknowledged()
    assert await desk.told() == {"m1": ["new", "[stop]"]}


async def test_who_begins_after_a_takeover_is_not_heard(desk: Desk) -> None:
    """A caller that stood still between reading a request and its first record: two writers are never mixed."""
    (found,) = await desk.settled(inherited("m1"))
    assert found.fate == "called-again"
    assert found.answer is not None
    late = await desk.wrote("m1", "late, ", "and wrong")
    for text in ("a", "b", "c"):
        await found.answer.put(Chunk(delta=text))
    await late.put(Chunk(finish_reason="stop", end=True))
    await late.acknowledged()
    await found.answer.put(Chunk(finish_reason="stop", end=True))
    await found.answer.writer.acknowledged()
    assert "".join((await desk.told())["m1"]) == "abc[stop]"
    assert found.answer.writer._attempt == 1


async def test_half_an_answer_ends_as_failed_unless_it_can_be_gone_on_with(desk: Desk) -> None:
    """That depends on its upstream; what there is of the text is handed on."""
    await desk.wrote("m1", "so ", "far")
    await desk.wrote("m2", "so ", "far")
    cut, on = await desk.settled(inherited("m1", "cut-off"), inherited("m2", "goes-on"))
    assert (cut.fate, on.fate, on.text) == ("failed", "continued", "so far")
    assert cut.answer is not None
    assert await cut.answer.give_up("it was lost", 502) == "refused"
    assert (await desk.told())["m1"] == ["so ", "far", "upstream: it was lost", "[error]"]


async def test_what_nobody_can_open_again_ends_as_failed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although nothing had come: its tools are larger than a record may be."""
    take_over = Answer.take_over

    async def refused(answer: Answer, name: bytes) -> None:
        answer.refused = Refused(TOO_LARGE, "the record has 9 bytes; the topic takes 8")
        await take_over(answer, name)

    monkeypatch.setattr(Answer, "take_over", refused)
    await desk.wrote("m1")
    (found,) = await desk.settled(inherited("m1"))
    assert (found.fate, found.answer is None) == ("failed", False)


async def test_a_take_over_that_kafka_did_not_take_is_written_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nobody would ever look after it: it waited for its own record."""
    take_over, names = Answer.take_over, list[bytes]()

    async def lost(answer: Answer, name: bytes) -> None:
        names.append(name)
        if len(names) > 1:
            await take_over(answer, name)

    monkeypatch.setattr(Answer, "take_over", lost)
    await desk.wrote("m1")
    (found,) = await desk.settled(inherited("m1"))
    assert found.fate == "called-again"
    assert names[0] == names[1] == header((await desk.records())[-1].headers, TAKEOVER)
    assert found.seconds > 2 * LEASE_S


async def test_of_a_take_over_that_was_written_twice_either_record_counts(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one came late, just in front of the other: they say the same."""
    take_over, late = Answer.take_over, list[Answer]()

    async def held(answer: Answer, name: bytes) -> None:
        late.append(answer)
        if len(late) > 1:
            for each in late:
                await take_over(each, name)

    monkeypatch.setattr(Answer, "take_over", held)
    await desk.wrote("m1")
    (found,) = await desk.settled(inherited("m1"))
    assert (found.fate, len(late)) == ("called-again", 2)
    assert found.answer is late[1]
    await found.answer.put(Chunk(delta="new"))
    await found.answer.put(Chunk(finish_reason="stop", end=True))
    await found.answer.writer.acknowledged()
    assert await desk.told() == {"m1": ["new", "[stop]"]}


@pytest.mark.parametrize("model", ["cut-off", "goes-on"])
async def test_what_lacks_only_its_end_gets_that(desk: Desk, model: str) -> None:
    """Its caller was lost while it waited for counts: nothing is asked for again, and nothing has failed."""
    writer = await desk.wrote("m1", "all ", "of it")
    await writer.put(Chunk(finish_reason="length", end=False))
    await writer.acknowledged()
    (found,) = await desk.settled(inherited("m1", model))
    assert found.fate == "over"
    assert found.answer is not None
    assert await found.answer.end() == "finished"
    assert await desk.told() == {"m1": ["all ", "of it", "[length]"]}


async def test_more_than_text_is_not_gone_on_with(desk: Desk) -> None:
    """Reasoning that a server sorted out can't be given back to it."""
    writer = await desk.wrote("m1", "text")
    await writer.put(Chunk(reasoning="why"))
    await writer.acknowledged()
    assert [each.fate for each in await desk.settled(inherited("m1", "goes-on"))] == ["failed"]


@pytest.mark.parametrize("asked", [inherited, overdue])
async def test_of_two_that_take_over_one_has_the_answer(desk: Desk, asked: Callable[[str], ReceivedRequest]) -> None:
    """The first record of a range counts, however late; the other one sees that it is alive, and waits for its end."""
    await desk.wrote("m1")
    both = [asyncio.create_task(desk.settled(asked("m1"))) for _ in range(2)]
    (won,), (waits,) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    (found,) = won.result()
    assert found.fate == "called-again"
    assert found.answer is not None
    await found.answer.put(Chunk(delta="once"))
    await found.answer.put(Chunk(finish_reason="stop", end=True))
    assert (await waits)[0].fate == "over"
    assert await desk.told() == {"m1": ["once", "[stop]"]}


async def test_who_takes_over_second_has_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record is in the range of the one that was faster; when that one falls silent, too, there is the next."""
    take_over, rivals = Answer.take_over, [desk.writer("m1", attempt=1)]

    async def late(answer: Answer, name: bytes) -> None:
        while rivals:
            rival = rivals.pop()
            await rival.open({"format": "plain"}, 1, [(TAKEOVER, b"rival")])
            await rival.acknowledged()
        await take_over(answer, name)

    monkeypatch.setattr(Answer, "take_over", late)
    await desk.wrote("m1")
    (found,) = await desk.settled(inherited("m1"))
    assert found.answer is not None
    assert found.answer.writer._attempt == 2


async def test_who_took_over_and_fell_silent_is_followed(desk: Desk) -> None:
    """As often as it takes, each in a range of its own."""
    await desk.wrote("m1")
    ranges = list[int]()
    for _ in range(2):
        (found,) = await desk.settled(inherited("m1"))
        assert found.fate == "called-again"
        values = [record.value for record in await desk.records()]
        ranges.append(int(values[-1].split(b'"seq":')[1].split(b",")[0].rstrip(b"}")) // RANGE)
    assert ranges == [1, 2]


async def test_signs_of_who_was_overtaken_keep_nobody_waiting(desk: Desk) -> None:
    """The one who took over is lost, too: that the first one still lives, and does not know it, helps nobody."""
    first = await desk.wrote("m1")
    (found,) = await desk.settled(inherited("m1"))
    assert found.fate == "called-again"
    settling = asyncio.create_task(desk.settled(inherited("m1")))

    async def beaten() -> bool:
        await first.beat()
        return settling.done()

    await until(beaten, "it is taken over again")
    assert (await settling)[0].fate == "called-again"
    assert await desk.told() == {}


async def test_who_is_silent_is_listened_to_however_partitions_move(desk: Desk) -> None:
    """Who has listened for a while goes on: a lease that began anew with each rebalance might never end."""
    await desk.wrote("m1", "so ", "far")
    found = await desk.settled(inherited("m1", "goes-on"), parts_s=LEASE_S / 2)
    assert [(each.fate, each.text, each.seconds > LEASE_S) for each in found] == [("continued", "so far", True)]


async def test_who_is_heard_of_is_left_to_the_owner_of_today(desk: Desk) -> None:
    """Who had the partition before decides nothing of it then, also if that falls silent later."""
    writer = await desk.wrote("m1", "a")
    began = asyncio.get_running_loop().time()
    settling = asyncio.create_task(desk.settled(inherited("m1"), parts_s=2 * LEASE_S))

    async def beaten() -> bool:
        await writer.beat()
        return settling.done()

    await until(beaten, "it is heard of")
    assert asyncio.get_running_loop().time() - began >= 2 * LEASE_S
    assert await settling == []


async def test_what_was_stopped_is_over_if_it_had_begun(desk: Desk) -> None:
    """A stop before the first record ends nothing: a caller has to end it, and calls no model for it."""
    await desk.wrote("m1", "a")
    stop = b'{"message_id":"%b","control":"cancel"}'
    for message in (b"m1", b"m2"):
        await desk.producer.send(desk.topics.tokens, b"talk", stop % message)
    ended, stopped = await desk.settled(inherited("m1"), inherited("m2"))
    assert (ended.fate, stopped.fate) == ("over", "stopped")
    assert stopped.answer is not None
    assert await stopped.answer.end_stopped() == "stopped"
    assert (await desk.told())["m2"] == ["[cancelled]"]


async def test_a_kafka_that_is_away_is_waited_for_by_others(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The producer refuses then; to callers that is one more reason to try again, and none to end."""

    async def away(*_: object) -> int:
        await asyncio.sleep(0)  # as long as the producer waits for a connection others run
        raise unavailable("Kafka: there is no connection")

    monkeypatch.setattr(desk.producer, "partition", away)
    with pytest.raises(Unavailable, match="there is no connection"):
        await desk.settled(inherited("m1"))


async def test_nothing_is_settled_twice(desk: Desk) -> None:
    """Reading may fail behind the last decision, and is tried again with what is left: nothing."""
    assert await desk.settled() == []
