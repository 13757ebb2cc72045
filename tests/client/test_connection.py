"""How Kafka is reached, and what is said when it is not."""

import pytest
from aiokafka.errors import KafkaConnectionError

from tokenmill.client import Connection
from tokenmill.client.connection import started, stopped, unavailable
from tokenmill.config import Kafka
from tokenmill.errors import Unavailable


def test_a_plain_connection_has_no_secrets() -> None:
    """Without SASL and TLS only the protocol is said."""
    arguments = Connection.of(Kafka(bootstrap_servers="k:1")).arguments()
    assert arguments["bootstrap_servers"] == "k:1"
    assert arguments["security_protocol"] == "PLAINTEXT"
    assert not {name for name in arguments if name.startswith(("sasl", "ssl"))}


def test_sasl_over_tls_brings_user_password_and_context() -> None:
    """The service's settings become those of aiokafka."""
    kafka = Kafka(security_protocol="SASL_SSL", sasl_mechanism="SCRAM-SHA-512", sasl_username="u", sasl_password="p")
    arguments = Connection.of(kafka).arguments()
    assert arguments["sasl_mechanism"] == "SCRAM-SHA-512"
    assert (arguments["sasl_plain_username"], arguments["sasl_plain_password"]) == ("u", "p")
    assert arguments["ssl_context"].check_hostname


@pytest.mark.parametrize("problem", [KafkaConnectionError("refused"), TimeoutError()])
def test_problems_of_kafka_become_one_sentence(problem: Exception) -> None:
    """The sentence begins with what was being done; the caller may try again."""
    with pytest.raises(Unavailable, match=r"^reading 'events': "), unavailable("reading 'events'"):
        raise problem


class Broken:
    """A client whose connection is gone."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def start(self) -> None:
        self.asked.append("start")
        raise KafkaConnectionError("refused")

    async def stop(self) -> None:
        self.asked.append("stop")
        raise KafkaConnectionError("gone")


async def test_a_client_that_does_not_start_is_stopped_again() -> None:
    """No socket and no task of it stays behind."""
    client = Broken()
    with pytest.raises(Unavailable, match=r"connecting to Kafka at k:1: .*refused"):
        await started(client, Connection("k:1"))
    assert client.asked == ["start", "stop"]


async def test_stopping_a_broken_client_ends_quietly() -> None:
    """A client that can't say goodbye is left alone."""
    client = Broken()
    await stopped(client)
    assert client.asked == ["stop"]
