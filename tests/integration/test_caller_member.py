"""A caller in the test's own process, on a real Kafka: what it begins of what it reads, and when."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.caller.desk import Desk, Running, request
from tests.support.model_servers.__main__ import key_of
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tests.support.model_servers.wire import Body
from tests.support.stage import until
from tests.support.topics import admin_of, make_topics
from tokenmill.caller.membership import Membership
from tokenmill.errors import Unavailable
from tokenmill.kafka import believed_ends
from tokenmill.kafka.clients import METADATA_MS

pytestmark = pytest.mark.integration

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
async def desk(kafka: str, unique: str) -> AsyncIterator[Desk]:
    """Topics of the test's own."""
    async with Desk(kafka, unique, NOWHERE).open() as desk:
        yield desk


class Stood(Membership):
    """That of a member which has stood still, and has to ask a group that answers as it is told to."""

    known = due = False

    def __init__(self) -> None:
        super().__init__(1.0)
        self.asked = 0
        self.ours = False

    async def commit(self, consumer: AIOKafkaConsumer, offsets: Mapping[TopicPartition, int]) -> bool:  # noqa: ARG002 -- as it is
        """What the group says."""
        self.asked += 1
        return self.ours


async def test_who_stood_still_begins_nothing_before_the_group_says_that_it_may(desk: Desk) -> None:
    """What it reads again and again till then may be another's; nothing of it is forgotten."""
    running, stood = Running(desk), Stood()
    running.caller._membership = stood
    async with running:
        await desk.ask(request("m1"))

        async def asked() -> bool:
            return stood.asked > 1 or bool(await desk.records())

        await until(asked, "the group is asked, twice")
        assert (await desk.records(), running.count("running")) == ([], 0)
        stood.ours = True
        await until(lambda: running.count("running"), "it is begun")


async def test_what_was_asked_for_before_is_not_begun_but_looked_after(desk: Desk) -> None:
    """It may be under way at somebody else, as here."""
    await desk.wrote("m1", "a")
    await desk.ask(request("m1"))
    async with Running(desk) as running:
        await until(lambda: running.count("inherited") or running.count("running"), "it is read")
        assert (running.count("inherited"), running.count("running")) == (1, 0)


async def test_who_is_told_to_end_leaves_its_partitions_at_once(kafka: str, unique: str) -> None:
    """Another one begins what comes from then on, while an answer goes on here, which nobody else begins again."""
    long = Script("word " * 150, cut=5, pause_s=0.2)

    def said(body: Body) -> Script:
        return long if key_of(body) == "m1" else Script("quick")

    async with Vllm(said) as model, Desk(kafka, unique, model.url).open() as desk, Running(desk) as second:
        async with Running(desk, drain_s=60) as first:
            await until(lambda: first.count("partitions") == second.count("partitions") == 1, "each has one")
            conversation = await of_partition(desk, first)
            await desk.ask(request("m1", "goes-on"), conversation=conversation)
            await until(lambda: any(each.tokens_sent for each in model.generations), "it is being answered")
            first.stop.set()
            await until(lambda: second.count("partitions") == 2, "the other one has all partitions")
            await desk.ask(request("m2"), conversation=conversation)
            await until(lambda: second.numbers.value("tokenmill_caller_answers_total", "finished"), "it is answered")
            assert (first.caller.readiness(), first.count("running")) == ((False, "draining"), 1)
            long.pause_s = 0
        told = await desk.told()
        assert ("".join(told["m1"]), "".join(told["m2"])) == (f"{long.text}[stop]", "quick[stop]")
        await until(lambda: second.count("inherited") == 0, "its end is heard of")
        assert sorted(key_of(each.body) for each in model.generations) == ["m1", "m2"]


async def test_a_static_member_that_is_replaced_ends_with_the_cause(desk: Desk) -> None:
    """Another process has its name: both would call models for the same requests."""
    twins = [Running(desk, name="caller-0") for _ in range(2)]
    running = [asyncio.create_task(each.caller.run(each.stop)) for each in twins]
    await asyncio.wait(running, timeout=20, return_when=asyncio.FIRST_COMPLETED)
    for each in twins:
        each.stop.set()
    found = await asyncio.gather(*running, return_exceptions=True)
    assert "kafka.group_instance_id 'caller-0' must be that of one process alone" in str(found)


async def test_a_topic_that_is_away_is_told_of_and_taken_up_when_it_is_back(desk: Desk) -> None:
    """The group gives no partitions of it, which is no reason to be called ready."""
    bootstrap, topic = desk.config.kafka.bootstrap_servers, desk.topics.requests
    async with Running(desk) as running:
        async with admin_of(bootstrap) as admin:
            await admin.delete_topics([topic])
        await until(lambda: f"no topic {topic}" in running.caller.readiness()[1], "it is missed")
        assert not running.caller.readiness()[0]
        await make_topics(bootstrap, topic, partitions=1)
        await until(lambda: running.caller.readiness()[0], "it is taken up", METADATA_MS / 2_000)
        assert running.count("partitions") == 1


async def test_an_end_below_the_commit_is_not_believed_at_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that is not up to date would have old requests begun again. A log that lost them is believed later."""
    async with Running(desk) as running:
        caller, place = running.caller, TopicPartition(desk.topics.requests, 0)
        assert caller._consumer is not None
        await caller._consumer.commit({place: 5})
        with pytest.raises(Unavailable, match="ends at 0, below what is committed, 5"):
            await caller._placing._find(caller._consumer, place)
        monkeypatch.setattr(believed_ends, "BELIEF_S", 0.2)
        await caller.on_partitions_assigned([place])
        assert caller._offsets[place].inherited_until == 0


async def of_partition(desk: Desk, running: Running) -> str:
    """A conversation whose requests are the caller's."""
    (place,) = running.caller._offsets
    names = (f"talk-{number}" for number in range(100))
    found = [name for name in names if await desk.producer.partition(place.topic, name.encode()) == place.partition]
    return found[0]
