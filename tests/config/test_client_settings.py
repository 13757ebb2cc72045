"""What may be passed on to the Kafka client, and what is tokenmill's to decide."""

import inspect
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from tokenmill.config import Kafka
from tokenmill.config.client_settings import (
    CONSUMER,
    LONGEST_FETCH_WAIT_MS,
    PRODUCER,
    SHARED,
    Passed,
    client_contradictions,
)
from tokenmill.kafka.hung_brokers import OWES_S

OURS = {"self", "topics"}
"""Parameters of the client that are not settings."""


def said(**kafka: Any) -> list[str]:
    """What is wrong with these."""
    return [sentence for _, sentence in client_contradictions(msgspec.convert(kafka, Kafka))]


@pytest.mark.parametrize(("client", "passed"), [(AIOKafkaProducer, PRODUCER), (AIOKafkaConsumer, CONSUMER)])
def test_every_setting_of_the_client_is_decided_about(client: type, passed: Passed) -> None:
    """It is passed on or kept, and not both: with a new version of the client each new one is looked at."""
    known = inspect.signature(client).parameters.keys() - OURS
    kept = {*passed.kept, *SHARED}
    assert passed.taken.keys() | kept == known
    assert passed.taken.keys() & kept == set()


def test_what_may_be_passed_on_is() -> None:
    """Compression, sizes and times of batches and fetches, the place of a reader."""
    producer = {"compression_type": "zstd", "max_batch_size": 100_000, "connections_max_idle_ms": 1_000}
    consumer = {"client_rack": "eu-1a", "fetch_max_bytes": 1_000_000, "check_crcs": False, "fetch_max_wait_ms": 0}
    assert said(producer=producer, consumer=consumer) == []


def test_an_idle_broker_answers_a_fetch_before_it_counts_as_silent() -> None:
    """The longest wait that can be set is half of what is suspicious."""
    assert said(consumer={"fetch_max_wait_ms": LONGEST_FETCH_WAIT_MS}) == []
    assert LONGEST_FETCH_WAIT_MS <= OWES_S * 1000 / 2


@pytest.mark.parametrize(
    ("kafka", "sentence"),
    [
        (
            {"producer": {"acks": 1}},
            "kafka.producer.acks: can't be set here: every promise needs the acknowledgement of all replicas",
        ),
        (
            {"consumer": {"isolation_level": "read_uncommitted"}},
            "kafka.consumer.isolation_level: can't be set here: records of open or aborted transactions are not read",
        ),
        (
            {"consumer": {"bootstrap_servers": "k:1"}},
            "kafka.consumer.bootstrap_servers: can't be set here: kafka.bootstrap_servers sets it",
        ),
        (
            {"producer": {"compresion_type": "lz4"}},
            "kafka.producer.compresion_type: unknown setting; did you mean compression_type?",
        ),
        (
            {"producer": {"compression_type": "brotli"}},
            "kafka.producer.compression_type: Invalid enum value 'brotli'; known are gzip, lz4, snappy, zstd",
        ),
        ({"consumer": {"fetch_max_bytes": 0}}, "kafka.consumer.fetch_max_bytes: Expected `int` >= 1"),
        ({"consumer": {"fetch_max_wait_ms": 1_001}}, "kafka.consumer.fetch_max_wait_ms: Expected `int` <= 1000"),
        (
            {"consumer": {"connections_max_idle_ms": 0}},
            "kafka.consumer.connections_max_idle_ms: Expected `int` >= 1000",
        ),
    ],
)
def test_what_may_not_is_refused_by_name(kafka: dict[str, Any], sentence: str) -> None:
    """With the reason, or with what can be given in its place."""
    assert said(**kafka) == [sentence]
