"""A broker with TLS and a login, tried with every way to log in that the settings have."""

import base64
import gc
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.support.certificates import Identity, make_identity
from tests.support.secure_kafka import SecureKafkaServer
from tokenmill.config import Config, Kafka, Topics
from tokenmill.errors import Unavailable
from tokenmill.kafka.clients import make_admin
from tokenmill.kafka.topics import create_topics, partition_counts

pytestmark = pytest.mark.integration

PASSWORD = "open-sesame-4711"


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return make_identity(tmp_path_factory.mktemp("identity"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, identity: Identity) -> Iterator[SecureKafkaServer]:
    with SecureKafkaServer(tmp_path_factory.mktemp("secure"), identity.both, {"alice": PASSWORD}) as server:
        yield server


@pytest.fixture
def kafka_settings(server: SecureKafkaServer, identity: Identity) -> Kafka:
    return Kafka(
        bootstrap_servers=server.secure_bootstrap,
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="alice",
        sasl_password=PASSWORD,
        ssl_cafile=str(identity.certificate),
    )


async def _look(kafka: Kafka) -> dict[str, int]:
    async with make_admin(kafka) as admin:
        return await partition_counts(admin, ["secured"])


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_a_password_lets_in(kafka_settings: Kafka, mechanism: str) -> None:
    """Topics can be made and seen over TLS."""
    kafka = msgspec.structs.replace(kafka_settings, sasl_mechanism=mechanism)
    names = Topics(tokens="secured", events="e", tool_calls="c", tool_results="r", dlq="d")
    await create_topics(Config(kafka=kafka, topics=names), partitions=1)
    assert await _look(kafka) == {"secured": 1}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_a_wrong_password_is_refused_and_not_told(kafka_settings: Kafka, mechanism: str) -> None:
    """The error says what failed, and no password; aiokafka leaves the refused connection to the garbage collector."""
    kafka = msgspec.structs.replace(kafka_settings, sasl_mechanism=mechanism, sasl_password="not-" + PASSWORD)
    with pytest.raises(Unavailable) as refusal:
        await _look(kafka)
    assert PASSWORD not in f"{refusal.value!r} {refusal.value.__cause__!r}"
    del refusal
    gc.collect()  # here, where its warning is known


async def test_a_broker_that_nobody_vouches_for_is_refused(kafka_settings: Kafka) -> None:
    """Without its authority no password is sent."""
    with pytest.raises(Unavailable, match=r"\(self-signed certificate\): `kafka.ssl_cafile` names"):
        await _look(msgspec.structs.replace(kafka_settings, ssl_cafile=""))


async def test_a_token_lets_in(kafka_settings: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes from a function of the operator's, which is asked at every login."""
    source = f"asked = []\nasync def token():\n    asked.append(1)\n    return {_unsigned_token()!r}\n"
    (tmp_path / "tokens_of_a_test.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    kafka = msgspec.structs.replace(
        kafka_settings,
        sasl_mechanism="OAUTHBEARER",
        sasl_username="",
        sasl_password="",
        sasl_token_provider="tokens_of_a_test:token",
    )
    await _look(kafka)
    assert sys.modules["tokens_of_a_test"].asked


def _unsigned_token() -> str:
    now = int(time.time())
    parts = ({"alg": "none"}, {"sub": "alice", "iat": now, "exp": now + 600})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."
