"""The gateway as a child process."""

import os
import tomllib
from pathlib import Path

import pytest

from tests.support.deployment import promtool
from tests.support.topics import make_topics
from tokenmill.config import load_config
from tokenmill.errors import MissingServer
from tokenmill.servers.gateway import GatewayProcess
from tokenmill.servers.process import answer_of


def test_its_configuration_is_what_was_asked_for(tmp_path: Path) -> None:
    """With ports of its own on the loopback interface; the gateway reads the file as we meant it."""
    gateway = GatewayProcess(tmp_path, {"kafka": {"bootstrap_servers": "k:1"}, "gateway": {"flush_ms": 5}})
    gateway.port = 1234
    path = Path(gateway.command()[-1])
    section = tomllib.loads(path.read_text())["gateway"]
    assert section | {"ops_port": 0} == {
        "flush_ms": 5,
        "bind": "127.0.0.1",
        "port": 1234,
        "ops_bind": "127.0.0.1",
        "ops_port": 0,
    }
    assert load_config(path, {}).gateway.ops_port == section["ops_port"]
    assert gateway.url == "http://127.0.0.1:1234"


@pytest.mark.integration
async def test_it_answers_both_of_its_ports(kafka: str, unique: str, tmp_path: Path) -> None:
    """Metrics that promtool takes, with everything that is read from its parts; and it stops when it is told to."""
    events = f"events-{unique}"
    await make_topics(kafka, events, partitions=2)
    gateway = GatewayProcess(tmp_path, {"kafka": {"bootstrap_servers": kafka}, "topics": {"events": events}})
    assert gateway.metrics() == ""
    with gateway:
        pid = gateway.pid
        assert answer_of(f"{gateway.url}/v1/nothing") is None
        metrics = gateway.metrics()
        assert 'tokenmill_gateway_refusals_total{problem="not-found"} 1.0' in metrics
        assert "tokenmill_gateway_readers_limit 8.0" in metrics
        assert promtool("check", "metrics", given=metrics) == ""
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_one_that_can_not_start_says_why(tmp_path: Path) -> None:
    """The end of its log is in the error."""
    with pytest.raises(MissingServer, match=r"gateway\.nonsense"):
        GatewayProcess(tmp_path, {"gateway": {"nonsense": 1}}).start()
