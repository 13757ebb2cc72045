"""Callers as processes of their own, on a real Kafka: which requests each takes, and how far it says that it is."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.caller.desk import CONVERSATION, Desk, request, settings
from tests.caller.model import Model
from tests.support.callers import CallerProcess
from tests.support.model_servers.speech import Script
from tests.support.stage import until
from tests.support.topics import admin_of
from tests.support.watching import Watching
from tokenmill.apis.record import CONVERSATION_BYTES, StoppedRecord
from tokenmill.caller import answer as answers
from tokenmill.caller.caller import Caller
from tokenmill.caller.inheritance import ReceivedRequest
from tokenmill.caller.offsets import Offsets
from tokenmill.codecs import Chunk
from tokenmill.config import Caller as Settings
from tokenmill.errors import FatalError, Unavailable
from tokenmill.front.stops import Stops
from tokenmill.gateway.ingest.in_flight import InFlightRecord
from tokenmill.observe import CALLER_METRICS, Numbers

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

SLOW = Script("".join(f"word-{number:02} " for number in range(60)), cut=8, pause_s=0.1)
"""Six seconds: long enough for others to come and go."""

LATE = Script("at last", first_s=4)

Start = Callable[..., CallerProcess]


@pytest.fixture
async def model() -> AsyncIterator[Model]:
    """Without scripts yet."""
    async with Model({}) as model:
        yield model


@pytest.fixture
async def desk(kafka: str, unique: str, model: Model) -> AsyncIterator[Desk]:
    """Topics of the test's own."""
    async with Desk(kafka, unique, model.url).open() as desk:
        yield desk


@pytest.fixture
def start(desk: Desk, tmp_path: Path) -> Iterator[Start]:
    """Makes callers, which are killed in the end."""
    with ExitStack() as stack:

        def started(name: str, front: dict[str, Any] | None = None, **caller: Any) -> CallerProcess:
            process = CallerProcess(tmp_path / name, settings(desk, **caller) | {"front": front or {}})
            stack.callback(process.kill)
            process.start()
            return process

        yield started


async def owns(caller: CallerProcess, count: int) -> None:
    """Wait until a caller has so many partitions."""
    said = re.compile(r"(\d+) partitions are ours")

    def has() -> bool:
        found = said.findall(caller.log.read_text())
        return bool(found) and int(found[-1]) == count

    await until(has, f"it has {count} partitions")


async def answered(desk: Desk, *messages: str) -> dict[str, str]:
    """What a worker makes of messages, once each is over."""

    async def over() -> dict[str, str]:
        said = {message: "".join(words) for message, words in (await desk.told()).items()}
        return said if all(re.search(r"\[\w+\]$", said.get(message, "")) for message in messages) else {}

    found: dict[str, str] = await until(over, f"{messages} are over")
    return found


async def committed(desk: Desk) -> int:
    """How far the partition of the conversation is; -1 for nowhere."""
    number = await desk.producer.partition(desk.topics.requests, CONVERSATION.encode())
    async with admin_of(desk.config.kafka.bootstrap_servers) as admin:
        found = await admin.list_consumer_group_offsets(f"callers of {desk.topics.requests}")
    place = found.get(TopicPartition(desk.topics.requests, number))
    return place.offset if place is not None else -1


async def test_a_rebalance_in_mid_answer_cuts_nobody_off(desk: Desk, model: Model, start: Start) -> None:
    """An answer goes on where it began, whoever has its partition; who gets that waits for its end."""
    model.scripts["m1"] = SLOW
    first = start("first")
    await desk.ask(request("m1"))
    await model.says("m1")
    second = start("second")
    await owns(first, 1)
    await owns(second, 1)
    assert await answered(desk, "m1") == {"m1": f"{SLOW.text}[stop]"}
    assert len(model.of("m1")) == 1
    await until(lambda: committed_is(desk, 1), "its end is committed")


async def committed_is(desk: Desk, offset: int) -> bool:
    return await committed(desk) == offset


async def test_what_is_committed_lies_below_every_answer_that_is_not_over(
    desk: Desk, model: Model, start: Start
) -> None:
    """A quick one behind a slow one moves nothing; then both are done."""
    model.scripts["m1"] = SLOW
    start("caller")
    await desk.ask(request("m1"), request("m2"))
    await answered(desk, "m2")
    await model.says("m1", tokens=20)  # some commits later
    assert await committed(desk) <= 0
    await answered(desk, "m1")
    await until(lambda: committed_is(desk, 2), "both are committed")


async def test_what_was_stopped_before_it_was_open_is_ended(desk: Desk, model: Model, start: Start) -> None:
    """While all callers were away, and while one began it; who reads it hears of its end."""
    model.scripts["m2"] = SLOW
    stops = Stops(desk.producer, desk.topics.tokens, desk.topics.requests)
    await desk.ask(request("m1"))
    await stops.stop(CONVERSATION, "m1")
    caller = start("caller")
    await owns(caller, 2)
    assert await answered(desk, "m1") == {"m1": "[cancelled]"}
    assert model.of("m1") == []
    stopped = msgspec.json.encode(StoppedRecord("m2"))
    await desk.ask(request("m2"))
    await desk.producer.send(desk.topics.requests, CONVERSATION.encode(), stopped)
    assert (await answered(desk, "m1", "m2"))["m2"].endswith("[cancelled]")
    await until(lambda: committed_is(desk, 4), "all are committed")


async def test_of_requests_with_the_same_key_the_first_counts(desk: Desk, model: Model, start: Start) -> None:
    """Two fronts may write the same one; another attempt is another request."""
    start("caller")
    await desk.ask(request("m1", key="k"), request("m2", key="k"), request("m3", key="k", attempt=1), request("m4"))
    assert await answered(desk, "m1", "m3", "m4") == dict.fromkeys(("m1", "m3", "m4"), "quick[stop]")
    await until(lambda: committed_is(desk, 4), "all are committed")
    assert model.of("m2") == []


async def test_a_request_that_no_front_wrote_is_passed_over(desk: Desk, model: Model, start: Start) -> None:
    """Its key is no conversation's: `tokens` may not take it, and an answer without an end would end every caller."""
    start("caller")
    value = msgspec.json.encode(request("m1"))
    for key in (b"\xff", *(b"%d" % number + b"x" * CONVERSATION_BYTES for number in range(9))):
        await desk.producer.send(desk.topics.requests, key, value)
    await desk.ask(request("m2"))
    assert await answered(desk, "m2") == {"m2": "quick[stop]"}
    assert model.of("m1") == []


async def test_a_key_that_fronts_have_forgotten_is_answered_again(desk: Desk, start: Start) -> None:
    """They take it for a new request, and its client waits for an answer."""
    start("caller", front={"remember_s": 0.001, "retry_s": 0.001})
    await desk.ask(request("m1", key="k"))
    assert await answered(desk, "m1") == {"m1": "quick[stop]"}
    await desk.ask(request("m2", key="k"))
    assert await answered(desk, "m1", "m2") == dict.fromkeys(("m1", "m2"), "quick[stop]")


async def test_more_than_it_takes_are_told_to_come_back(desk: Desk, model: Model, start: Start) -> None:
    """At once, and as a refusal with a status of its own."""
    model.speaks.clear()
    start("caller", answers=1)
    await desk.ask(request("m1"))
    await model.says("m1", tokens=0)
    await desk.ask(request("m2"))
    said = await answered(desk, "m2")
    assert "as many answers as it may" in said["m2"]
    assert model.of("m2") == []
    model.speaks.set()
    assert (await answered(desk, "m1"))["m1"] == "quick[stop]"


@pytest.mark.parametrize(
    ("asked", "script", "said"),
    [("cut-off", LATE, "^at last.stop.$"), ("goes-on", SLOW, "word-58 word-59 .stop.$"), ("cut-off", SLOW, "error.$")],
    ids=["nothing had come", "goes on", "is cut off"],
)
async def test_an_answer_whose_caller_was_killed_is_taken_over(
    desk: Desk, model: Model, start: Start, asked: str, script: Script, said: str
) -> None:
    """By the next owner of its partition; each word comes once."""
    model.scripts["m1"] = script
    first = start("first")
    await desk.ask(request("m1", asked))
    await model.says("m1", tokens=0 if script is LATE else 3)
    first.kill()
    start("second")
    found = (await answered(desk, "m1"))["m1"]
    assert re.search(said, found), found
    assert script.text.startswith(found.split("upstream:")[0].removesuffix("[stop]"))
    assert len(model.of("m1")) == (1 if "error" in said else 2)


async def test_an_answer_whose_caller_was_lost_before_it_wrote_the_end_is_whole(
    desk: Desk, model: Model, start: Start
) -> None:
    """All else is in the log: no server is asked for it, its client hears of no failure, and it is committed."""
    writer = await desk.wrote("m1", "all of it")
    await writer.put(Chunk(finish_reason="length", end=False))
    await writer.acknowledged()
    await desk.ask(request("m1"))
    start("caller")
    assert await answered(desk, "m1") == {"m1": "all of it[length]"}
    assert model.of("m1") == []
    await until(lambda: committed_is(desk, 1), "its end is committed")


async def test_who_was_frozen_is_not_heard_any_more(desk: Desk, model: Model, start: Start) -> None:
    """It wakes up in the middle of an answer that has another caller by now, and leaves it."""
    model.scripts["m1"] = SLOW
    first = start("first")
    await desk.ask(request("m1", "goes-on"))
    await model.says("m1")
    first.freeze()
    second = start("second")
    await until(lambda: "is continued" in second.log.read_text(), "another one has it")
    first.thaw()
    assert (await answered(desk, "m1"))["m1"] == f"{SLOW.text}[stop]"
    assert len(model.of("m1")) == 2


async def test_an_answer_that_comes_back_to_who_had_lost_it_goes_on(desk: Desk, model: Model, start: Start) -> None:
    """It has come to its end there, and that counted for nothing: the log says so."""
    model.scripts["m1"] = SLOW
    first = start("first")
    await desk.ask(request("m1", "goes-on"))
    await model.says("m1")
    first.freeze()
    second = start("second")
    await until(lambda: len(model.of("m1")) == 2, "another one goes on with it")
    second.kill()
    first.thaw()
    assert (await answered(desk, "m1"))["m1"] == f"{SLOW.text}[stop]"
    assert len(model.of("m1")) == 3


async def test_who_was_frozen_begins_nothing_of_what_came_meanwhile(desk: Desk, model: Model, start: Start) -> None:
    """It may still read the topic before it hears that the partition is another's."""
    model.scripts["m1"] = SLOW
    first = start("first")
    first.freeze()
    second = start("second")
    await owns(second, 2)
    await desk.ask(request("m1"))
    await model.says("m1")
    first.thaw()
    assert (await answered(desk, "m1"))["m1"] == f"{SLOW.text}[stop]"
    assert len(model.of("m1")) == 1


class Held:
    """The way to Kafka, of which no record comes out until it is let go."""

    acknowledged_s = 0.0

    def __init__(self, desk: Desk) -> None:
        self._producer = desk.producer
        self.free = asyncio.Event()

    async def partition(self, topic: str, key: bytes) -> int:
        return await self._producer.partition(topic, key)

    async def put(self, *record: Any, **more: Any) -> InFlightRecord:
        await self.free.wait()
        return await self._producer.put(*record, **more)


async def test_an_answer_whose_end_kafka_did_not_take_gets_one(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """By who has its partition, though that is who left it; nothing is committed before."""
    monkeypatch.setattr(answers, "END_S", 0.2)
    group = Settings(lease_s=1, group_id=f"callers of {desk.topics.requests}")
    config, held = msgspec.structs.replace(desk.config, caller=group), Held(desk)
    numbers, stop = Numbers(CALLER_METRICS), asyncio.Event()
    caller = Caller(config, desk.resources(held), Watching().finishes, numbers)
    running = asyncio.create_task(caller.run(stop))
    await until(lambda: caller.readiness()[0], "it has its partitions", 60)
    await desk.ask(request("m1", until=int((time.time() + 0.5) * 1000)))
    await until(lambda: numbers.value("tokenmill_caller_answers_total", "expired"), "it is left")
    await until(lambda: numbers.value("tokenmill_caller_inherited"), "it is looked after")
    assert await committed(desk) <= 0
    held.free.set()
    assert "not over in time" in (await answered(desk, "m1"))["m1"]
    await until(lambda: committed_is(desk, 1), "its end is committed")
    assert numbers.value("tokenmill_caller_inherited_total", "called-again") == 1
    stop.set()
    await running


async def test_nothing_is_said_of_partitions_that_may_be_another_s(desk: Desk) -> None:
    """From their revocation on: a commit would be that of the member which joins again, whatever it gets."""
    config = msgspec.structs.replace(desk.config, caller=Settings(group_id=f"callers of {desk.topics.requests}"))
    numbers, stop = Numbers(CALLER_METRICS), asyncio.Event()
    caller = Caller(config, desk.resources(), Watching().finishes, numbers)
    running = asyncio.create_task(caller.run(stop))
    await until(lambda: numbers.value("tokenmill_caller_partitions") == 2, "it has its partitions", 60)
    await caller.on_partitions_revoked(())
    assert numbers.value("tokenmill_caller_partitions") == 0
    stop.set()
    await running


PLACE = TopicPartition("requests", 0)


def away(**kafka: Any) -> Caller:
    """A caller without a Kafka."""
    desk = Desk("nowhere:9092", "x", "http://nowhere")
    config = msgspec.structs.replace(desk.config, kafka=msgspec.structs.replace(desk.config.kafka, **kafka))
    return Caller(config, desk.resources(), Watching().finishes, Numbers(CALLER_METRICS))


@pytest.mark.parametrize(("name", "static"), [(None, False), ("", False), ("caller-0", True)])
async def test_a_member_without_a_name_is_not_static(name: str | None, static: bool) -> None:
    """An empty name counts as none: such a member need not ask the group each time."""
    assert away(group_instance_id=name)._membership._static is static


async def test_what_the_group_has_is_not_committed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it did not take is; and a member that has to show that it is one commits all the same."""
    caller, taken, nobody = away(), iter([False, True, True]), cast("AIOKafkaConsumer", None)
    caller._offsets[PLACE] = Offsets(3, 3)
    caller._offsets[PLACE].take(3, finished=True)
    monkeypatch.setattr(caller._membership, "commit", lambda *_: asyncio.sleep(0, next(taken)))
    assert [await caller._commit(nobody) for _ in range(3)] == [False, True, False]
    assert await caller._commit(nobody, everything=True)


async def test_an_answer_that_is_left_is_that_of_the_assignment_that_began_it() -> None:
    """A partition that went and came back has its requests anew; one that went is looked after by its owner."""
    caller, left = away(), ReceivedRequest("c", request("m1"), 3, 0)
    for today in ({}, {PLACE: Offsets(3, 4)}):
        caller._offsets = {PLACE: Offsets(3, 3)}
        over = caller._end_recorder(PLACE, left)
        caller._offsets = today
        over(known=False)
        assert caller._left.count == 0
    caller._end_recorder(PLACE, left)(known=False)
    assert caller._left.count == 1


async def test_what_goes_wrong_in_a_callback_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client would log it and continue: without reading these, or with offsets of another's partitions."""
    caller, broken = away(), RuntimeError("the commit is broken")
    monkeypatch.setattr(caller._membership, "commit", Mock(side_effect=broken))
    caller._consumer, caller._offsets[PLACE] = cast("AIOKafkaConsumer", object()), Offsets(3, 3)
    caller._offsets[PLACE].take(3, finished=True)
    await caller.on_partitions_revoked([PLACE])
    assert (caller._failure._told.exception(), caller._offsets) == (broken, {})
    caller = away()
    await caller.on_partitions_assigned([PLACE])
    assert isinstance(caller._failure._told.exception(), AssertionError)


async def test_a_topic_that_is_not_there_is_named_with_what_makes_it(desk: Desk) -> None:
    """The client itself says of a topic that it waits for nothing that helps."""
    topics = msgspec.structs.replace(desk.config.topics, requests=f"no-{desk.topics.requests}")
    kafka = msgspec.structs.replace(desk.config.kafka, startup_timeout_s=1)
    config = msgspec.structs.replace(desk.config, topics=topics, kafka=kafka)
    caller = Caller(config, desk.resources(), Watching().finishes, Numbers(CALLER_METRICS))
    with pytest.raises(Unavailable, match=f"no topic {topics.requests}: `tokenmill topics create`"):
        await caller.run(asyncio.Event())


async def test_a_client_that_reads_nothing_any_more_ends_the_caller(desk: Desk) -> None:
    """Its fetching has ended, and its polls would find nothing from then on."""
    caller = Caller(desk.config, desk.resources(), Watching().finishes, Numbers(CALLER_METRICS))
    running = asyncio.create_task(caller.run(asyncio.Event()))
    await until(lambda: caller.readiness()[0], "it has its partitions", 60)
    assert caller._consumer is not None
    caller._consumer._fetcher._fetch_task.cancel()
    with pytest.raises(FatalError, match="fetching task has ended"):
        await asyncio.wait_for(running, 30)
