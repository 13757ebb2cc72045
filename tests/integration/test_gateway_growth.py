"""A topic that grows while clients read: each goes on where its conversation does, with nothing missing or twice."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count

import pytest

from tests.support.gateway_clients import answer as asking
from tests.support.gateway_clients import blocks, events_path, read_events
from tests.support.gateways import Gate, answer, listening, shown
from tests.support.sse import Block
from tests.support.stage import until
from tokenmill.gateway.event_log import tail
from tokenmill.records import Output

pytestmark = pytest.mark.integration

PARTITIONS = 5


@pytest.fixture
async def gate(kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gate]:
    """With two partitions, of which it looks often whether there are more."""
    monkeypatch.setattr(tail, "GROWTH_S", 0.1)
    async with listening(kafka, unique) as gate:
        yield gate


def movers(gate: Gate) -> list[str]:
    """Conversations whose partition will be another one."""
    homes = gate.serving.tail
    before = {name: homes.partition_of(name.encode()) for name in (f"c{number}" for number in range(20))}
    homes._partitions = PARTITIONS
    after = {name: homes.partition_of(name.encode()) for name in before}
    homes._partitions = 2
    return [name for name in before if before[name] != after[name]]


async def followed(gate: Gate, conversation: str, got: list[Block]) -> None:
    """What a client is sent that comes back whenever it is cut off, for ever."""
    for _ in count():
        place = {"last_event_id": got[-1].id} if got else {"from_": "start"}
        try:
            async with asking(gate.port, events_path(conversation, **place)) as found:
                async for block in blocks(found):
                    got.append(block)  # noqa: PERF401 -- what came before the cut counts
        except ConnectionError:
            await asyncio.sleep(0.05)


def of(*answers: list[Output]) -> list[str]:
    """What clients get of these."""
    return [payload.decode() for each in answers for payload in shown(each, "native")]


async def test_clients_go_on_where_their_conversation_does(gate: Gate, kafka: str) -> None:
    """Those whose conversation stays are not disturbed."""
    mover = movers(gate)[0]
    stayer = next(f"c{number}" for number in count() if f"c{number}" not in movers(gate))
    first = {name: answer(name, "m1", ["one ", "two"]) for name in (mover, stayer)}
    second = {name: answer(name, "m2", ["three"]) for name in (mover, stayer)}
    got: dict[str, list[Block]] = {mover: [], stayer: []}
    following = [asyncio.create_task(followed(gate, name, got[name])) for name in got]
    try:
        for name in got:
            await gate.say(first[name])
        await until(lambda: all(len(got[name]) == len(first[name]) for name in got), "they have the first answer")
        staying = [stream for stream in gate.serving.flusher.streams if not stream.leaves()]
        await gate.grow(kafka, PARTITIONS)
        for name in got:
            await gate.say(second[name])
        await until(lambda: all(len(got[name]) >= len(of(first[name], second[name])) for name in got), "and the second")
        assert {name: [block.data for block in got[name]] for name in got} == {
            name: of(first[name], second[name]) for name in got
        }
        assert len([stream for stream in staying if stream in gate.serving.flusher.streams]) == 1
    finally:
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)


async def test_a_message_that_is_open_is_read_to_its_end_first(gate: Gate, kafka: str) -> None:
    """Whoever wrote its beginning may go on where that is."""
    name = movers(gate)[0]
    home = gate.serving.tail.partition_of(name.encode())
    first, second = answer(name, "m1", ["one ", "two ", "three"]), answer(name, "m2", ["four"])
    got: list[Block] = []
    following = asyncio.create_task(followed(gate, name, got))
    try:
        await gate.say(first[:-2])
        await until(lambda: len(got) == len(first) - 2, "it has the beginning")
        (stream,) = gate.serving.flusher.streams
        await gate.grow(kafka, PARTITIONS)
        await gate.say(second)
        assert stream.leaves() is None
        await gate.say(first[-2:], home)
        await until(lambda: len(got) >= len(first) + len(second), "it has both")
        assert [block.data for block in got] == of(first, second)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_an_old_id_leads_to_what_came_since(gate: Gate, kafka: str) -> None:
    """To the rest of the old partition first; behind its end to the new one, or to nothing if that has nothing."""
    name = movers(gate)[0]
    first, second = answer(name, "m1", ["one"]), answer(name, "m2", ["two"])
    await gate.say(first)
    whole = await read_events(gate.port, name, None, len(first), from_="start")
    await gate.grow(kafka, PARTITIONS)
    behind = {"last_event_id": whole[-1].id}
    async with asking(gate.port, events_path(name, **behind, until="finish")) as found:
        assert found.status == 204
    await gate.say(second)
    assert [block.data for block in await read_events(gate.port, name, None, len(second), **behind)] == of(second)
    begun = await read_events(gate.port, name, None, None, last_event_id=whole[0].id, until="finish")
    assert begun == whole[1:]


async def test_a_gateway_that_has_not_noticed_looks_once_more(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a client that another one led on: it gets what comes next, not the whole conversation with a false gap."""
    monkeypatch.setattr(tail, "GROWTH_S", 3_600)
    async with listening(kafka, unique) as first, listening(kafka, unique) as other:
        name = movers(first)[0]
        one, two, three = (answer(name, f"m{number}", ["text"]) for number in range(3))
        await first.say(one)
        await first.grow(kafka, PARTITIONS)
        await first.say(two)
        (*_, last) = await read_events(first.port, name, None, len(two), from_="start")
        assert other.serving.tail.partitions == 2
        await first.say(three)
        got = await read_events(other.port, name, {"last-event-id": last.id}, len(three))
    assert [block.data for block in got] == of(three)
