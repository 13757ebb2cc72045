"""Streams of real gateways over what a real worker publishes: where they begin, go on and end, and what is refused."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from tests.support.gateway_clients import answer, blocks, events_path, gateway_of, payloads_of, read_events, streams
from tests.support.gateways import listening
from tests.support.sse import Block
from tests.support.stage import Stage, until
from tests.support.topics import make_anew
from tokenmill.kafka.calls import CALL_S
from tokenmill.servers import KafkaServer
from tokenmill.servers.gateway import GatewayProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

TEXT = "<think>Hm.</think>It rains, and it will go on for a while."


class Scene:
    """A worker, gateways, and conversations."""

    def __init__(self, stage: Stage, gateways: list[GatewayProcess]) -> None:
        self.stage = stage
        self.gateways = gateways

    @property
    def port(self) -> int:
        return self.gateways[0].port

    async def say(self, conversation: str, message: str, text: str, *, finish: bool = True, choice: int = 0) -> None:
        """An answer of a model, a word at a time."""
        chunks: list[dict[str, Any]] = [{"delta": word + " "} for word in text.split()]
        chunks += [{"finish_reason": "stop"}] if finish else []
        chunks[0] = chunks[0] | {"open": {"format": "hermes", "model": "some-model"}}
        await self.stage.send_all(
            (conversation, {"message_id": message, "choice": choice, **chunk}) for chunk in chunks
        )

    async def wanted(self, conversation: str, dialect: str = "native") -> list[str]:
        """What a client that is there from the start gets."""
        await until(self.stage.caught_up, "the worker is through")
        found = await self.stage.found()
        contents = [each for (topic, _), some in found.items() if topic == self.stage.topics.events for each in some]
        return payloads_of(contents, conversation.encode(), dialect)

    async def all(self, conversation: str, **query: str) -> list[Block]:
        """To the end of the answer."""
        return await read_events(self.port, conversation, None, None, until="finish", **query)


async def started(stage: Stage, folder: Path, stack: ExitStack, gateways: int) -> Scene:
    """With so many gateways."""
    made = [gateway_of(stage, folder / f"gateway-{number}", stack, lookback_s=1e6) for number in range(gateways)]
    await asyncio.gather(stage.start(), *(asyncio.to_thread(gateway.start) for gateway in made))
    return Scene(stage, made)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(kafka: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """With two gateways, for all tests that leave the log as it is; each has conversations of its own."""
    folder = tmp_path_factory.mktemp("shared")
    async with Stage(folder, kafka, uuid4().hex[:8], redis_url, partitions=2) as stage:
        with ExitStack() as stack:
            yield await started(stage, folder, stack, 2)


@pytest_asyncio.fixture(loop_scope="module")
async def stage(tmp_path: Path, kafka: str, redis_url: str, unique: str) -> AsyncIterator[Stage]:
    """Topics and a group of the test's own, for the loop of the module."""
    async with Stage(tmp_path, kafka, unique, redis_url, partitions=2) as stage:
        yield stage


@pytest_asyncio.fixture(loop_scope="module")
async def scene(stage: Stage, tmp_path: Path) -> AsyncIterator[Scene]:
    """Of the test's own, with a gateway."""
    with ExitStack() as stack:
        yield await started(stage, tmp_path, stack, 1)


@pytest.mark.parametrize("form", ["text/event-stream", "application/x-ndjson"])
async def test_a_late_client_joins_at_every_frame_at_either_gateway(shared: Scene, unique: str, form: str) -> None:
    """Two messages, one of them with two choices, in dialects with and without state."""
    await asyncio.gather(shared.say(unique, "m", TEXT), shared.say(unique, "m", TEXT, choice=1))
    await shared.say(unique, "n", "And more.")
    headers = {"accept": form}
    for dialect in ("native", "openai"):
        wanted = await shared.wanted(unique, dialect)
        whole = await read_events(shared.port, unique, headers, from_="start", until="finish", dialect=dialect)
        assert [block.data for block in whole] == wanted
        for number, block in enumerate(whole[:-1], 1):
            port = shared.gateways[number % 2].port
            place = {"from_": block.id} if number % 3 else {"last_event_id": block.id}
            rest = await read_events(port, unique, headers, None, until="finish", dialect=dialect, **place)
            assert rest == whole[number:]
        last = headers | {"last-event-id": whole[-1].id}
        async with answer(shared.port, events_path(unique, until="finish", dialect=dialect), last) as found:
            assert (found.status, await found.body()) == (204, b"")


async def test_a_conversation_without_a_message_waits_for_its_first(shared: Scene, unique: str) -> None:
    """From its start or from now; and one that is asked for its open message gets the next."""
    waiting = [asyncio.create_task(shared.all(unique, from_=word)) for word in ("start", "now", "message")]
    await until(lambda: streams(shared.gateways[0]) == len(waiting), "all of them are there")
    await shared.say(unique, "m", TEXT)
    wanted = await shared.wanted(unique)
    for task in waiting:
        assert [block.data for block in await asyncio.wait_for(task, 60)] == wanted


async def test_the_open_message_is_shown_from_its_beginning(shared: Scene, unique: str) -> None:
    """Not those before it."""
    await shared.say(unique, "over", TEXT)
    await shared.say(unique, "open", TEXT, finish=False)
    await until(shared.stage.caught_up, "the worker is through")
    async with answer(shared.port, events_path(unique, from_="message", until="finish")) as found:
        got = blocks(found)
        first = await anext(got)
        await shared.stage.send(unique, {"message_id": "open", "finish_reason": "stop"})
        shown = [first.data, *[block.data async for block in got]]
    assert shown == [payload for payload in await shared.wanted(unique) if '"message_id":"open"' in payload]


async def test_another_s_place_opens_nothing(shared: Scene) -> None:
    """By its id nobody gets a frame of a conversation that is not asked for; forged ids neither."""
    await shared.say("mine", "m", "Mine alone.")
    await shared.say("theirs", "m", "Theirs alone.")
    theirs = await shared.all("theirs", from_="start")
    partition, offset, _ = theirs[2].id.split(".")
    for forged in (theirs[2].id, f"{partition}.{offset}.00009~0", f"{partition}.{'9' * 19}.00001~0", "7.3.1~3"):
        async with answer(shared.port, events_path("mine", from_=forged)) as found:
            assert (found.status, (await found.problem())["type"]) == (410, "urn:tokenmill:problem:gone")
        got = await read_events(shared.port, "mine", {"last-event-id": forged}, until="finish")
        assert got[0].event == "gap"
        assert [block.data for block in got[1:]] == await shared.wanted("mine")


WRONG = {
    events_path("c", from_="yesterday"): (400, "bad-position"),
    events_path("c", dialect="klingon"): (400, "unknown-dialect"),
    events_path("c", until="dawn"): (400, "bad-request"),
    events_path("c" * 1_025): (400, "bad-request"),
    "/v1/conversations//events": (404, "not-found"),
    "/v1/nothing": (404, "not-found"),
}


@pytest_asyncio.fixture(loop_scope="module")
async def gateway(stage: Stage, tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    with ExitStack() as stack:
        process = gateway_of(stage, tmp_path / "gateway", stack)
        await asyncio.to_thread(process.start)
        yield process


async def test_what_is_wrong_is_a_problem(gateway: GatewayProcess) -> None:
    """That says what to change; nothing of it is logged as a fault."""
    for path, (status, kind) in WRONG.items():
        async with answer(gateway.port, path) as found:
            assert (found.status, (await found.problem())["type"]) == (status, f"urn:tokenmill:problem:{kind}")
    assert "Traceback" not in gateway.log.read_text()


async def test_other_methods_open_no_stream(kafka: str, unique: str) -> None:
    """They are answered at once, and nothing of the log is read for them."""
    async with listening(kafka, unique) as gate:
        for method in ("HEAD", "OPTIONS", "POST", "DELETE", "PUT"):
            async with answer(gate.port, events_path("c"), method=method) as found:
                assert found.status in (204, 403, 405), method
        assert dict(gate.serving.tail.windows) == {}
        assert gate.serving.log_readers._free == []


async def test_a_client_of_http_1_0_is_served(shared: Scene, unique: str) -> None:
    """Without chunks; its answer ends with its connection."""
    await shared.say(unique, "m", TEXT)
    path = events_path(unique, from_="start", until="finish")
    async with answer(shared.port, path, version="1.0") as found:
        assert "transfer-encoding" not in found.headers
        assert [block.data async for block in blocks(found)] == await shared.wanted(unique)


async def test_a_place_that_retention_passed_is_a_gap(scene: Scene) -> None:
    """Those who can't see a refusal are told of it in the stream, and get what is there."""
    await scene.say("c", "m", TEXT)
    whole = await scene.all("c", from_="start")
    number, offset = (int(part) for part in whole[5].id.split(".")[:2])
    await scene.say("c", "n", "And more.")
    await until(scene.stage.caught_up, "the worker is through")
    await scene.stage.delete_records(number, offset + 1, scene.stage.topics.events)
    port = await fresh(scene)
    async with answer(port, events_path("c", from_=whole[5].id)) as found:
        assert found.status == 410
    got = await read_events(port, "c", {"last-event-id": whole[5].id}, until="finish")
    assert got[0].event == "gap"
    kept = await scene.all("c", from_="start")
    assert [block.data for block in got if block.event != "gap"] == [b.data for b in kept if b.event != "gap"]
    assert [block.data for block in got[-3:]] == (await scene.wanted("c"))[-3:]


async def fresh(scene: Scene) -> int:
    """Of a gateway that has seen nothing yet."""
    await asyncio.to_thread(scene.gateways[0].stop)
    await asyncio.to_thread(scene.gateways[0].start)
    return scene.port


async def test_a_topic_of_the_same_name_is_another_log(scene: Scene) -> None:
    """Ids of the old one are gone; nobody is sent what happens to lie there."""
    await scene.say("c", "m", TEXT)
    whole = await scene.all("c", from_="start")
    for worker in scene.stage.workers:
        await asyncio.to_thread(worker.stop)
    await make_anew(scene.stage.bootstrap, scene.stage.topics.events, scene.stage.partitions)
    port = await fresh(scene)
    async with answer(port, events_path("c", from_=whole[-3].id)) as found:
        assert found.status == 410


async def test_streams_wait_while_the_broker_is_away(
    start_kafka: Callable[..., KafkaServer], tmp_path: Path, redis_url: str, unique: str
) -> None:
    """And go on when it is back: nothing missing, nothing twice, and nobody had to come back for it."""
    kafka = start_kafka()
    async with Stage(tmp_path, kafka.bootstrap, unique, redis_url, partitions=1) as stage:
        with ExitStack() as stack:
            process = gateway_of(stage, tmp_path / "gateway", stack)
            await asyncio.gather(stage.start(), asyncio.to_thread(process.start))
            scene = Scene(stage, [process])
            await scene.say("c", "m", TEXT, finish=False)
            await until(stage.caught_up, "the worker is through")
            patience = kafka.start_s + 120  # a broker that was killed starts slowly on a busy machine
            async with answer(scene.port, events_path("c", from_="start", until="finish"), patience=patience) as found:
                reading = blocks(found)
                got = [await anext(reading)]
                await asyncio.to_thread(kafka.kill)
                await asyncio.sleep(3)
                await asyncio.to_thread(kafka.start)
                await stage.send("c", {"message_id": "m", "finish_reason": "stop"})
                got += [block async for block in reading]
            # A worker that could not commit publishes again, the same bytes: a client has them once.
            assert [block.data for block in got] == list(dict.fromkeys(await scene.wanted("c")))
            assert process.alive


async def test_streams_go_on_in_a_gateway_that_stood_still(scene: Scene) -> None:
    """It was paused for longer than a call to Kafka may take, which nobody has waited for."""
    await scene.say("c", "m", TEXT, finish=False)
    await until(scene.stage.caught_up, "the worker is through")
    [process] = scene.gateways
    async with answer(scene.port, events_path("c", from_="start", until="finish")) as found:
        reading = blocks(found)
        got = [await anext(reading)]
        process.freeze()
        await asyncio.sleep(CALL_S + 2)
        process.thaw()
        await scene.stage.send("c", {"message_id": "m", "finish_reason": "stop"})
        got += [block async for block in reading]
    assert [block.data for block in got] == await scene.wanted("c")
    assert process.alive
