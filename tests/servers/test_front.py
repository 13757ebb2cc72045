"""A front and a caller as child processes."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.callers import CallerProcess, FrontAlone
from tests.support.deployment import promtool
from tests.support.topics import make_topics
from tokenmill.config import load_config
from tokenmill.errors import MissingServer
from tokenmill.servers.front import FrontProcess
from tokenmill.servers.process import answer_of

UPSTREAM = {"models": ["m"], "kind": "vllm", "urls": ["http://127.0.0.1:9"]}


def test_their_configuration_is_what_was_asked_for(tmp_path: Path) -> None:
    """With ports of their own on the loopback interface; the model servers are a list."""
    settings: dict[str, Any] = {"kafka": {"bootstrap_servers": "k:1"}, "upstreams": [UPSTREAM]}
    front = FrontAlone(tmp_path, settings | {"front": {"first_s": 5}})
    front.port = 1234
    command = front.command()
    assert "--no-caller" in command
    config = load_config(Path(command[-1]), {})
    assert (config.front.bind, config.front.port, config.front.first_s) == ("127.0.0.1", 1234, 5)
    assert (config.front.ops_port, front.url) == (front.ops_port, "http://127.0.0.1:1234")
    caller = CallerProcess(tmp_path, settings)
    caller.port = 1235
    section = tomllib.loads(Path(caller.command()[-1]).read_text())["caller"]
    assert section == {"bind": "127.0.0.1", "port": 1235}


@pytest.mark.integration
async def test_they_answer_their_ports(kafka: str, unique: str, tmp_path: Path) -> None:
    """Metrics that promtool takes, with everything that is read from their parts; and they stop when told to."""
    topics = {name: f"{name}-{unique}" for name in ("tokens", "events", "requests")}
    await make_topics(kafka, *topics.values(), partitions=2)
    settings: dict[str, Any] = {"kafka": {"bootstrap_servers": kafka}, "topics": topics, "upstreams": [UPSTREAM]}
    front, caller = FrontProcess(tmp_path / "front", settings), CallerProcess(tmp_path / "caller", settings)
    assert front.metrics() == ""
    with front, caller:
        pids = front.pid, caller.pid
        assert '"id":"m"' in (answer_of(f"{front.url}/v1/models") or "")
        for metrics, name in ((front.metrics(), "front_readers"), (caller.metrics(), "caller_running_limit")):
            assert f"tokenmill_{name} " in metrics
            assert promtool("check", "metrics", given=metrics) == ""
        assert "tokenmill_caller_running_limit" in front.metrics()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize("kind", [FrontProcess, CallerProcess])
def test_one_that_can_not_start_says_why(kind: type[FrontProcess | CallerProcess], tmp_path: Path) -> None:
    """The end of its log is in the error."""
    process = kind(tmp_path, {"upstreams": [UPSTREAM | {"nonsense": 1}]})
    with pytest.raises(MissingServer, match=r"upstreams\[0\]\.nonsense"):
        process.start()
