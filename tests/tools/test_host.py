"""A runner as a process: how it starts, and how it ends."""

import asyncio
import logging
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support.stage import until
from tests.support.tool_calls import Calls
from tests.support.topics import make_topics
from tests.tools.http_tools import http_tools
from tokenmill.config import Config, Kafka, Tools
from tokenmill.errors import MissingServer
from tokenmill.gateway.http import idle_connections
from tokenmill.observe.telemetry import NO_TELEMETRY
from tokenmill.process import EXIT_S, Deadline
from tokenmill.servers.process import free_port
from tokenmill.tools import host
from tokenmill.tools.host import run_tools

pytestmark = pytest.mark.integration


class Noted(Deadline):
    """Notes the seconds that a process gets, and ends none."""

    started: ClassVar = list[float]()

    def start(self, seconds: float, why: str) -> None:  # noqa: ARG002 -- as the base has it
        """Note them."""
        self.started.append(seconds)


async def test_one_that_is_stopped_finishes_what_runs(kafka: str, unique: str, tmp_path: Path) -> None:
    """It takes no more, and ends with 0 when all is answered."""
    async with Calls(tmp_path, kafka, unique) as calls:
        runner = calls.runner()
        runner.start()
        await calls.call("running", seconds=1.5)
        await until(lambda: "begin running" in calls.effects(), "it runs")
        os.kill(runner.pid, signal.SIGTERM)
        await until(lambda: not runner.alive, "it ends")
        assert runner.process.returncode == 0
        (result,) = (await calls.results())["running"]
        assert result.result["structuredContent"] == {"result": "running"}


async def test_one_that_can_not_go_on_ends(kafka: str, unique: str, tmp_path: Path) -> None:
    """Two with one place in the group, and the topic for claims too small: it says what is wrong."""
    async with Calls(tmp_path, kafka, unique) as calls:
        small = f"small-{unique}"
        await make_topics(kafka, small, partitions=1)
        calls.settings["topics"] |= {"tool_state": small}
        calls.settings["kafka"] |= {"startup_timeout_s": 1}
        runner = calls.runner()
        with suppress(MissingServer):  # it ends before it is ready, unless the group gives it nothing at first
            runner.start()
        await until(lambda: not runner.alive, "it ends", 60)
        assert f"the broker does not know all partitions of {small}" in runner.log.read_text()


def test_one_that_finds_no_broker_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """And ends with 1, for a supervisor to start it again: in time, whatever its servers do."""
    monkeypatch.setattr(Noted, "started", started := list[float]())
    monkeypatch.setattr(host, "Deadline", Noted)
    assert run_tools(Config(kafka=Kafka(bootstrap_servers="127.0.0.1:9", startup_timeout_s=1)), ()) == 1
    assert started == [EXIT_S]


async def test_a_stranger_at_the_port_is_let_go(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As at the other operators' ports: silent connections are closed, and bytes that are not HTTP are not logged."""
    monkeypatch.setattr(idle_connections, "HEAD_S", 0.2)
    monkeypatch.setattr(idle_connections, "LOOK_S", 0.02)
    monkeypatch.setattr(host, "Deadline", Noted)
    config = Config(kafka=Kafka(bootstrap_servers="127.0.0.1:9", startup_timeout_s=60), tools=Tools(port=free_port()))
    running = asyncio.create_task(host._run(config, (), asyncio.Event(), NO_TELEMETRY))
    try:
        answers = []
        for sent in (b"\x16\x03\x01\r\n\r\n", b""):
            reader, writer = await until(lambda: _connection(config.tools.port), "it listens")
            writer.write(sent)
            async with asyncio.timeout(5):
                answers.append((await reader.read())[:12])
            writer.close()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert answers == [b"HTTP/1.0 400", b""]
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def _connection(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
    try:
        return await asyncio.open_connection("127.0.0.1", port)
    except ConnectionError:
        return None


async def test_one_whose_server_does_not_end_the_session_ends_all_the_same(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """With 0: nothing is left to be done."""
    async with http_tools() as tools, Calls(tmp_path, kafka, unique) as calls:
        tools.ends.clear()
        runner = calls.runner({"weather": {"url": tools.server.url}})
        runner.start()
        await calls.call("one", "weather__slow")
        tools.let_go.set()
        await until(lambda: calls.answered("one"), "it is answered")
        os.kill(runner.pid, signal.SIGTERM)
        await until(lambda: not runner.alive, "it ends")
        assert runner.process.returncode == 0
