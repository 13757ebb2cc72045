"""Starts that can't succeed yet, or never."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.stage import asked, until
from tokenmill.config import Config, Kafka
from tokenmill.kafka.topics import create_topics
from tokenmill.servers import KafkaServer
from tokenmill.servers.process import free_port
from tokenmill.servers.worker import WorkerProcess

pytestmark = pytest.mark.integration


async def test_an_unreachable_broker_is_waited_for(tmp_path: Path, start_kafka: Callable[..., KafkaServer]) -> None:
    """The process is healthy and not ready, the log says why, and it becomes ready when the broker comes."""
    server = start_kafka()
    await create_topics(Config(kafka=Kafka(bootstrap_servers=server.bootstrap)), partitions=2)
    server.stop()
    worker = WorkerProcess(tmp_path / "worker", {"kafka": {"bootstrap_servers": server.bootstrap}})
    starting = asyncio.create_task(asyncio.to_thread(worker.start))
    try:
        await until(lambda: worker.port and asked(worker, "/healthz")[0] == 200, "the process is alive")
        assert asked(worker, "/readyz")[0] == 503
        await until(lambda: "next try in" in worker.log.read_text(), "the log says that it tries")
        await asyncio.to_thread(server.start)
        await until(lambda: asked(worker, "/readyz")[0] == 200, "ready at last")
    finally:
        await starting
        worker.kill()


async def test_a_broker_that_never_comes_ends_the_process(tmp_path: Path) -> None:
    """Exit code 1 after the configured time, and a sentence about why."""
    kafka = {"bootstrap_servers": f"127.0.0.1:{free_port()}", "startup_timeout_s": 2}
    code, log = await _run(WorkerProcess(tmp_path, {"kafka": kafka}))
    assert code == 1
    assert "can't be reached" in log


async def test_waiting_for_a_broker_is_no_stall(tmp_path: Path) -> None:
    """However short the patience with a loop that does not turn: it turns all the time."""
    settings: dict[str, dict[str, object]] = {
        "kafka": {"bootstrap_servers": f"127.0.0.1:{free_port()}", "startup_timeout_s": 10},
        "worker": {"stall_timeout_s": 3},
    }
    code, log = await _run(WorkerProcess(tmp_path, settings))
    assert code == 1
    assert "can't be reached" in log
    assert "has not turned" not in log


async def test_an_unknown_key_is_refused_by_name(tmp_path: Path) -> None:
    """Exit code 2, before anything is connected."""
    code, log = await _run(WorkerProcess(tmp_path, {"kafka": {"bootstrap": "localhost:1"}}))
    assert code == 2
    assert "kafka.bootstrap" in log


async def test_a_file_that_is_not_there_is_named_with_its_setting(tmp_path: Path) -> None:
    """Exit code 2, too, though the worker has started by then: no restart helps."""
    kafka = {"security_protocol": "SSL", "ssl_cafile": str(tmp_path / "ca.pem")}
    code, log = await _run(WorkerProcess(tmp_path / "worker", {"kafka": kafka}))
    assert code == 2
    assert f"kafka.ssl_cafile: {tmp_path / 'ca.pem'} can't be used" in log


async def _run(worker: WorkerProcess) -> tuple[int, str]:
    """Start a worker that is not going to be ready, and wait for its end."""
    worker.port = free_port()
    worker.folder.mkdir(parents=True, exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *worker.command(), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, output.decode()
