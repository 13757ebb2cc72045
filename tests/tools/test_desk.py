"""One partition of calls on a real Kafka: claimed before they are made, answered once, fenced when it is another's."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import msgspec
import pytest
from aiokafka import TopicPartition

from tests.support.pipes import soon
from tests.support.stage import until
from tests.support.topics import make_topics, read_topic
from tokenmill.config import Config, Kafka, Tools, Topics
from tokenmill.errors import FatalError
from tokenmill.events import ToolCall, ToolResult
from tokenmill.records import InputRecord
from tokenmill.tools.call import Call, Written
from tokenmill.tools.desk import Desk
from tokenmill.tools.outcome import Outcome
from tokenmill.tools.places import Places
from tokenmill.worker.connect import make_producer
from tokenmill.worker.transaction import Transaction

pytestmark = pytest.mark.integration

Run = Callable[[Call], Awaitable[Outcome]]

NOW_MS = 2_000_000_000_000
"""Far in the future: no call has expired."""


@pytest.fixture
async def config(kafka: str, unique: str) -> Config:
    """Topics of one partition."""
    names = {key: f"{key}-{unique}" for key in ("tool_calls", "tool_results", "tool_state")}
    for name in names.values():
        await make_topics(kafka, name, partitions=1)
    return Config(
        kafka=Kafka(bootstrap_servers=kafka, group_id=unique),
        topics=Topics(**names),
        tools=Tools(repeat=("w__again*",)),
    )


@asynccontextmanager
async def desk_of(config: Config, run: Run, places: Places | None = None) -> AsyncIterator[Desk]:
    """One that has fenced whoever had the partition before, and has read what is known."""
    name, topics = config.kafka.group_id, config.topics
    make = partial(make_producer, config.kafka, transactional_id=name, transaction_timeout_ms=10_000)
    transaction = Transaction(make, name, name, 10, lambda _: None)
    ended = list[Outcome]()
    place = TopicPartition(topics.tool_calls, 0)
    desk = Desk(place, config, transaction, places or Places(9, 9), run, ended.append)
    await transaction.open()
    try:
        for record in await read_topic(config.kafka.bootstrap_servers, topics.tool_state):
            desk.read(record.key, record.value, record.offset)
        yield desk
    finally:
        await desk.close()


def record(offset: int, id_: str, tool: str = "note") -> InputRecord:
    event = ToolCall(id_, f"w__{tool}", {}, conversation_id="c", message_id="m", seq=1, time=1)
    return InputRecord("tool-calls", 0, offset, NOW_MS, b"c", msgspec.json.encode(event), [("tm-opened", b"7")])


async def states(config: Config) -> list[tuple[str, str]]:
    """The calls and their stages, as whoever takes over reads them."""
    records = await read_topic(config.kafka.bootstrap_servers, config.topics.tool_state)
    return [
        (msgspec.json.decode(each.key)[-1], msgspec.json.decode(each.value, type=Written).stage) for each in records
    ]


async def results(config: Config) -> list[ToolResult]:
    records = await read_topic(config.kafka.bootstrap_servers, config.topics.tool_results)
    return [msgspec.json.decode(each.value, type=ToolResult) for each in records]


async def test_a_call_is_made_when_it_is_claimed(config: Config) -> None:
    """What is committed can be read a moment later, while the call is still made; so can its end with its result."""
    seen = list[list[tuple[str, str]]]()

    async def run(_: Call) -> Outcome:
        seen.append(await until(lambda: states(config), "the claim"))
        return Outcome(result={"n": 1}, elapsed_ms=3)

    async with desk_of(config, run) as desk:
        desk.begin_at(0)
        desk.give([record(0, "one")])
        working = asyncio.create_task(desk.work())
        await until(lambda: results(config), "a result")
        assert desk.taken == 1
        working.cancel()
    assert seen == [[("one", "running")]]
    assert await states(config) == [("one", "running"), ("one", "done")]
    (result,) = await results(config)
    assert (result.id, result.result, result.elapsed_ms, result.conversation_id) == ("one", {"n": 1}, 3, "c")


async def test_where_there_is_no_place_a_call_waits(config: Config) -> None:
    """Known to all, so that its record is not needed any more; and it is made when there is one."""
    go = asyncio.Event()

    async def run(call: Call) -> Outcome:
        if call.id == "one":
            await go.wait()
        return Outcome(result=call.id)

    async with desk_of(config, run, Places(1, 1)) as desk:
        desk.begin_at(0)
        desk.give([record(0, "one"), record(1, "two"), record(2, "two")])
        working = asyncio.create_task(desk.work())
        await until(lambda: desk.taken == 3, "all are taken")
        assert await states(config) == [("one", "running"), ("two", "waiting")]
        assert (desk.running, desk.unfinished) == (1, 2)
        go.set()
        await until(lambda: desk.unfinished == 0, "all are over")
        working.cancel()
    assert [result.result for result in await results(config)] == ["one", "two"]


async def test_who_takes_over_shuts_out_the_owner_before(config: Config) -> None:
    """Which can't answer any more; what it had claimed is in doubt, run again, or run for the first time."""
    go, made = asyncio.Event(), list[str]()

    async def slow(call: Call) -> Outcome:
        await go.wait()
        return Outcome(result=call.id)

    async def quick(call: Call) -> Outcome:
        made.append(call.id)
        return Outcome(result="made again")

    async with desk_of(config, slow, Places(2, 2)) as old:
        old.begin_at(0)
        old.give([record(0, "one"), record(1, "two", "again"), record(2, "three")])
        working = asyncio.create_task(old.work())
        await until(lambda: old.taken == 3, "all are taken")
        async with desk_of(config, quick) as new:
            new.begin_at(3)
            go.set()
            with pytest.raises(FatalError, match="fenced"):
                await working
            taking = asyncio.create_task(new.work())
            await until(lambda: new.unfinished == 0, "all are over")
            taking.cancel()
    assert sorted(made) == ["three", "two"]
    assert {result.id: result.code or result.result for result in await results(config)} == {
        "one": "in-doubt",
        "two": "made again",
        "three": "made again",
    }


async def test_a_call_that_can_not_even_be_made_is_answered(config: Config) -> None:
    """Nothing that goes wrong with one stops the others."""

    async def run(call: Call) -> Outcome:
        if call.id == "one":
            raise RuntimeError("out of luck")
        return Outcome(result=1)

    async with desk_of(config, run) as desk:
        desk.begin_at(0)
        desk.give([record(0, "one"), InputRecord("tool-calls", 0, 1, NOW_MS, b"c", b"junk"), record(2, "two")])
        working = asyncio.create_task(desk.work())
        await until(lambda: desk.taken == 3 and not desk.unfinished, "all are over")
        working.cancel()
    assert {result.id: str(result.error or "") for result in await results(config)} == {
        "one": "RuntimeError('out of luck')",
        "two": "",
    }


async def test_what_is_paused_begins_when_it_may_go_on(config: Config) -> None:
    """What runs is answered meanwhile."""
    go = asyncio.Event()

    async def run(call: Call) -> Outcome:
        await go.wait()
        return Outcome(result=call.id)

    async with desk_of(config, run, Places(1, 1)) as desk:
        desk.begin_at(0)
        desk.give([record(0, "one"), record(1, "two")])
        working = asyncio.create_task(desk.work())
        await until(lambda: desk.taken == 2, "both are taken")
        desk.pause()
        go.set()
        await until(lambda: not desk.running, "the first one is answered")
        assert desk.unfinished == 1
        desk.go_on()
        await until(lambda: not desk.unfinished, "the second one is over")
        working.cancel()
    assert [result.result for result in await results(config)] == ["one", "two"]


async def test_what_is_given_up_leaves_no_place_taken(config: Config) -> None:
    """Whether its calls run, or their claims are just being written."""
    places = Places(2, 2)

    async def run(_: Call) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    async with desk_of(config, run, places) as desk:
        desk.begin_at(0)
        working = asyncio.create_task(desk.work())
        desk.give([record(0, "one")])
        await until(lambda: desk.taken == 1, "one runs")
        desk.give([record(1, "two")])
        await soon()
        assert desk.running == 2
        assert not places.take("w")
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    assert places.take("w")
    assert places.take("w")
