"""The programs are there before the first test begins, whose time is limited; and what a platform keeps for pods."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chart.pods import Secrets
from tests.chart.tools import NAMES
from tests.support.certificates import make_identity
from tests.support.deployment import tool
from tests.support.secure_kafka import SecureKafkaServer
from tokenmill.servers import RedisServer

PASSWORD = "open-sesame"


@pytest.fixture(scope="session", autouse=True)
def _tools() -> None:
    for name in NAMES:
        tool("go-program", name)


@pytest.fixture
def secure_kafka(tmp_path: Path) -> Iterator[SecureKafkaServer]:
    identity = make_identity(tmp_path / "identity")
    with SecureKafkaServer(tmp_path / "kafka", identity.both, {"alice": PASSWORD}) as server:
        yield server


@pytest.fixture
def secrets(tmp_path: Path, redis_server: RedisServer, secure_kafka: SecureKafkaServer) -> Secrets:
    """What the platform keeps; the broker's certificate is there once it runs."""
    assert secure_kafka.alive
    return {
        "kafka-login": {"username": "alice", "password": PASSWORD},
        "kafka-ca": {"ca.crt": (tmp_path / "identity" / "certificate.pem").read_text()},
        "redis-login": {"url": redis_server.url},
    }
