"""How Kafka is reached, and what is said when it is not."""

import msgspec
import pytest
from aiokafka.errors import KafkaConnectionError

from tokenmill.client import Connection
from tokenmill.client.connection import unavailable
from tokenmill.config import Kafka
from tokenmill.errors import Unavailable


def test_an_address_is_enough() -> None:
    """Everything else is aiokafka's default."""
    assert Connection("k:1").arguments() == {"bootstrap_servers": "k:1"}


def test_the_service_s_settings_become_those_of_the_client() -> None:
    """User, password and TLS included."""
    kafka = Kafka(bootstrap_servers="k:1", security_protocol="SASL_SSL", sasl_username="u", sasl_password="p")
    arguments = Connection.of(kafka).arguments()
    assert arguments["bootstrap_servers"] == "k:1"
    assert (arguments["sasl_plain_username"], arguments["sasl_plain_password"]) == ("u", "p")
    assert arguments["ssl_context"].check_hostname


def test_settings_of_one_kind_of_client_go_to_that_kind() -> None:
    """Over what is usual."""
    connection = Connection.of(Kafka(producer={"compression_type": "lz4"}, consumer={"fetch_max_wait_ms": 7}))
    assert connection.producing()["compression_type"] == "lz4"
    assert connection.consuming(fetch_max_wait_ms=100, fetch_min_bytes=1).items() >= {
        ("fetch_max_wait_ms", 7),
        ("fetch_min_bytes", 1),
    }
    assert "compression_type" not in connection.consuming()


def test_another_address_goes_with_the_same_settings() -> None:
    """The address stands only once."""
    connection = msgspec.structs.replace(Connection.of(Kafka(bootstrap_servers="a:1")), bootstrap_servers="b:1")
    assert connection.arguments()["bootstrap_servers"] == "b:1"


@pytest.mark.parametrize("problem", [KafkaConnectionError("refused"), TimeoutError()])
def test_problems_of_kafka_become_one_sentence(problem: Exception) -> None:
    """The sentence says what was tried; the caller may try again."""
    with pytest.raises(Unavailable, match=r"^Kafka: read 'events': "), unavailable("read 'events'"):
        raise problem
