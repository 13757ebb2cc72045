"""Waiting for a broker."""

import pytest

from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.kafka import stopped
from tokenmill.servers.process import free_port
from tokenmill.worker import connect
from tokenmill.worker.connect import make_admin, make_consumer, make_producer, make_reader, until_available


async def test_attempts_are_repeated_until_one_succeeds(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each failure is said."""
    monkeypatch.setattr(connect, "FIRST_PAUSE_S", 0.001)
    failures = ["first", "second"]

    async def attempt() -> str:
        if failures:
            raise Unavailable(failures.pop(0))
        return "done"

    assert await until_available(attempt, 30) == "done"
    assert [record.getMessage().split(";")[0] for record in caplog.records] == ["first", "second"]


async def test_attempts_end() -> None:
    """With the last problem."""

    async def attempt() -> None:
        raise Unavailable("still away")

    with pytest.raises(Unavailable, match="still away"):
        await until_available(attempt, 0.01)


async def test_an_admin_client_without_a_broker_is_unavailable() -> None:
    """And leaves nothing behind."""
    with pytest.raises(Unavailable, match="connect"):
        async with make_admin(Kafka(bootstrap_servers=f"127.0.0.1:{free_port()}")):
            pass


async def test_settings_of_the_client_are_passed_on() -> None:
    """Over what is usual; a batch is never larger than its topic takes."""
    kafka = Kafka(
        producer={"compression_type": "zstd", "max_batch_size": 200_000},
        consumer={"client_rack": "eu-1a", "fetch_max_wait_ms": 7},
    )
    producers = [make_producer(kafka, size) for size in (100_000, 300_000)]
    assert [producer._message_accumulator._batch_size for producer in producers] == [100_000, 200_000]
    assert {producer._compression_type for producer in producers} == {"zstd"}
    consumers = make_consumer(kafka), make_reader(kafka, "events")
    assert {(consumer._client_rack, consumer._fetch_max_wait_ms) for consumer in consumers} == {("eu-1a", 7)}
    for client in (*producers, *consumers):
        await stopped(client)
