"""The process: what it says when it can't start, when clients should be sent to it, and how it ends."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest
from aiohttp import ClientConnectionError, ClientSession, web

from tests.support.stage import until
from tests.support.starting import waits_for_kafka
from tests.support.topics import make_topics, read_topic
from tests.support.writes import serving
from tokenmill.config import Config, Gateway, Kafka
from tokenmill.gateway.host import SILENT_S, Process, run_gateway
from tokenmill.gateway.streams.flusher import Flusher
from tokenmill.process import EXIT_S, Deadline
from tokenmill.servers.gateway import GatewayProcess
from tokenmill.servers.process import answer_of


def test_without_kafka_it_does_not_start(capsys: pytest.CaptureFixture[str]) -> None:
    """It tries for as long as it may, and says so; then a supervisor tries again."""
    gateway = Gateway(port=0, connections=1_000_000_000)
    config = Config(kafka=Kafka(bootstrap_servers="127.0.0.1:1", startup_timeout_s=1), gateway=gateway)
    assert run_gateway(config) == 1
    out, err = capsys.readouterr()
    assert "Kafka at 127.0.0.1:1 can't be reached (connection refused)" in out + err
    assert "next try in" in out + err
    assert "gateway.connections: 1000000000 connections need " in out + err
    assert "Traceback" not in out + err


async def test_it_is_ready_while_kafka_answers_and_nobody_told_it_to_end() -> None:
    """Else the reason is said."""
    process = Process(Config(), Deadline())
    assert process.readiness() == (False, "Kafka has not answered yet")
    now = asyncio.get_running_loop().time()
    process._streams.tail.polled_at, process._streams.tail._partitions = now, 1
    assert process.readiness() == (False, "starting")
    process._begun = True
    assert process.readiness() == (True, "ready")
    process._streams.tail.polled_at = now - SILENT_S - 5
    ready, why = process.readiness()
    assert (ready, "Kafka has not answered for" in why) == (False, True)
    process._watch.draining = True
    assert process.readiness() == (False, "draining")


async def test_a_drain_waits_for_answers_that_are_being_posted() -> None:
    """For as long as it may: readers of one that is cut off have half of it, though its writer would go on."""
    for seconds, ends in ((60.0, True), (1.0, False)):
        async with serving() as client:
            process, site = draining(seconds), create_autospec(web.BaseSite)
            process._writes = client.writing
            writer = await client.half("c/chunks?codec=text&message_id=m", b"Hi")
            await until(lambda: bool(client.writing._tasks), "it is being posted")
            drained = asyncio.create_task(process._drain(site))
            await asyncio.wait([drained], timeout=0.02)
            site.stop.assert_awaited_once()
            assert not drained.done()
            assert process._watch.draining
            assert (await client("c/chunks?codec=text", b"Hi")).status == 503
            if ends:
                writer.close()
            await asyncio.wait_for(drained, 20)
            assert bool(client.writing._tasks) is not ends
            writer.close()


def draining(seconds: float) -> Process:
    """A process that has so long for its drain, and would not take the test's process with it."""
    return Process(Config(gateway=Gateway(drain_s=seconds)), Deadline(list[int]().append))


async def test_the_time_of_a_drain_begins_with_it_and_is_given_once() -> None:
    """Else the process would outlive its supervisor's patience, and be killed in the middle of an end."""
    process, site = draining(0.05), create_autospec(web.BaseSite)
    assert process._drain_left_s() == 0.05

    async def stop() -> None:
        assert process._deadline._timer is not None
        assert process._deadline._timer.interval == 0.05 + EXIT_S

    site.stop.side_effect = stop
    flusher = process._streams.flusher = create_autospec(Flusher)
    flusher.emptied.side_effect = asyncio.Event().wait
    await asyncio.wait_for(process._drain(site), 3)
    site.stop.assert_awaited_once()
    assert process._drain_left_s() == 0


async def test_it_waits_for_kafka_and_ends_when_it_is_told_to(tmp_path: Path) -> None:
    """Alive for its supervisor meanwhile, and not ready: clients find another one."""
    await waits_for_kafka(GatewayProcess, tmp_path, "tokenmill_gateway_build_info")


@pytest.mark.integration
async def test_it_ends_when_it_is_told_to(kafka: str, unique: str, tmp_path: Path) -> None:
    """With the exit code of a success, and at once where nobody is connected."""
    await make_topics(kafka, f"events-{unique}", partitions=1)
    for number in (signal.SIGTERM, signal.SIGINT):
        settings = {"kafka": {"bootstrap_servers": kafka}, "topics": {"events": f"events-{unique}"}}
        with GatewayProcess(tmp_path, settings) as gateway:
            process = gateway.process
            assert answer_of(f"{gateway.url}/v1/nothing") is None
            process.send_signal(number)
            assert await asyncio.to_thread(process.wait, 15) == 0
            assert "Traceback" not in gateway.log.read_text()


@pytest.mark.integration
async def test_an_answer_that_is_being_posted_is_written_to_its_end(kafka: str, unique: str, tmp_path: Path) -> None:
    """Before the process that takes it ends, which takes nothing new meanwhile."""
    topics = {"events": f"events-{unique}", "tokens": f"tokens-{unique}", "tool_results": f"tool-results-{unique}"}
    await make_topics(kafka, *topics.values(), partitions=1)
    settings: dict[str, dict[str, Any]] = {
        "kafka": {"bootstrap_servers": kafka},
        "topics": topics,
        "gateway": {"writes": True},
    }
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield b"Hi "
        begun.set()
        await stopped.wait()
        yield b"there"

    with GatewayProcess(tmp_path, settings) as gateway:
        path = f"{gateway.url}/v1/conversations/c/chunks?codec=text&message_id=m"
        async with ClientSession() as session, ClientSession() as kept:
            await (await kept.get(f"{gateway.url}/v1/nothing")).read()
            posting = asyncio.create_task(session.post(path, data=body()))
            await asyncio.wait_for(begun.wait(), 10)
            await until(lambda: read_topic(kafka, topics["tokens"]), "its beginning is written")
            gateway.process.send_signal(signal.SIGTERM)
            await asyncio.sleep(2.5)  # longer than requests get that nobody waits for
            assert (await kept.get(f"{gateway.url}/v1/nothing")).headers["connection"] == "close"
            with pytest.raises(ClientConnectionError):  # as there is no other process
                await kept.get(f"{gateway.url}/v1/nothing")
            stopped.set()
            async with await posting as answer:
                assert (answer.status, (await answer.json())["message_id"]) == (200, "m")
        assert await asyncio.to_thread(gateway.process.wait, 15) == 0
