"""Faust as a host: its traps are closed, its settings are ours."""

import asyncio
import os
import signal
import socket
from pathlib import Path
from typing import Any

import faust
import pytest
import uvloop

from tests.support.stage import Stage, asked, until
from tokenmill.config import Config
from tokenmill.config import Worker as Settings
from tokenmill.observe import Hooks, Numbers
from tokenmill.worker.host import Worker, make_app, run_worker
from tokenmill.worker.service import WorkerService

pytestmark = pytest.mark.integration


def test_faust_s_settings_come_from_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that Faust would read change nothing; its Kafka and its pages with data stay off."""
    for variable, value in {
        "WEB_PORT": "1",
        "WEB_BIND": "1.2.3.4",
        "BROKER_URL": "x://",
    }.items():
        monkeypatch.setenv(variable, value)
        monkeypatch.setenv(f"FAUST_{variable}", value)
    config = Config(worker=Settings(port=4711, bind="127.0.0.1"))
    loop = uvloop.new_event_loop()
    service = WorkerService(config, Numbers(), Hooks(), failing=lambda: None, loop=loop)
    app = make_app(config, service, Numbers(), loop)
    conf = app.conf
    assert (conf.web_port, conf.web_bind) == (4711, "127.0.0.1")
    assert not any((conf.web_stats_enabled, conf.web_tables_enabled, conf.web_router_enabled, conf.web_graph_enabled))
    assert app.boot_strategy.enable_kafka is False
    loop.close()


def test_a_port_that_is_taken_is_said_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    """With what to change, before Kafka is reached; the exit code is 1."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert run_worker(Config(worker=Settings(port=port, bind="127.0.0.1"))) == 1
    [line] = [line for line in capfd.readouterr().err.splitlines() if str(port) in line]  # output of others comes late
    assert f"can't listen on 127.0.0.1 port {port}: " in line
    assert line.endswith("set another TOKENMILL_WORKER__PORT, or 0 for any free one")


async def test_the_host_does_not_pause_at_its_end() -> None:
    """Faust's own pause is a second without a worker in each restart."""
    assert "_sentinel_task" in faust.Worker._shutdown_loop.__code__.co_names
    nobody: Any = None
    async with asyncio.timeout(0.5):
        await Worker._sentinel_task(nobody)


async def test_a_killed_worker_leaves_no_folder(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even an empty one: thousands of crashes would fill a disk with them."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    worker = await stage.start()
    worker.kill()
    assert list(scratch.iterdir()) == []
    assert not any(path.is_dir() for path in worker.folder.iterdir())


async def test_a_debugger_signal_is_ignored_and_output_is_plain(stage: Stage) -> None:
    """SIGUSR2 would hang the process; and no page but ours answers."""
    worker = await stage.start()
    os.kill(worker.pid, signal.SIGUSR2)
    await until(lambda: "SIGUSR2 ignored" in worker.log.read_text(), "the log has it")
    assert "tokenmill_build_info{" in worker.metrics()
    for page in ("/stats/", "/tables/", "/router/", "/graph/"):
        assert asked(worker, page)[0] == 404
    assert all(line.startswith("{") for line in worker.log.read_text().splitlines())
    worker.stop()
