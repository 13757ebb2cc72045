"""The worker as a child process."""

import os
import tomllib
from pathlib import Path

import pytest

from tests.support.topics import make_topics
from tokenmill.config import load_config
from tokenmill.errors import MissingServer
from tokenmill.servers.worker import WorkerProcess


def test_its_configuration_is_what_was_asked_for(tmp_path: Path) -> None:
    """With its own port and the loopback interface; the worker reads the file as we meant it."""
    worker = WorkerProcess(tmp_path, {"kafka": {"bootstrap_servers": "k:1"}, "worker": {"snapshot_interval_s": 1.5}})
    worker.port = 1234
    command = worker.command()
    path = Path(command[-1])
    assert tomllib.loads(path.read_text()) == {
        "kafka": {"bootstrap_servers": "k:1"},
        "worker": {"snapshot_interval_s": 1.5, "port": 1234, "bind": "127.0.0.1"},
    }
    assert load_config(path, {}).worker.port == 1234


@pytest.mark.integration
async def test_it_is_ready_when_it_owns_its_partitions(kafka: str, redis_url: str, unique: str, tmp_path: Path) -> None:
    """Then its metrics can be read, and it stops when it is told to."""
    topics = {name: f"{name.replace('_', '-')}-{unique}" for name in ("tokens", "events", "tool_calls", "dlq")}
    await make_topics(kafka, *topics.values())
    settings = {
        "kafka": {"bootstrap_servers": kafka, "group_id": unique},
        "redis": {"url": redis_url, "key_prefix": unique},
        "topics": topics,
    }
    worker = WorkerProcess(tmp_path, settings)
    assert worker.metrics() == ""
    with worker:
        pid = worker.pid
        assert 'tokenmill_restores_total{source="empty"} 4.0' in worker.metrics()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_one_that_can_not_start_says_why(tmp_path: Path) -> None:
    """The end of its log is in the error."""
    with pytest.raises(MissingServer, match=r"kafka\.nonsense"):
        WorkerProcess(tmp_path, {"kafka": {"nonsense": 1}}).start()
