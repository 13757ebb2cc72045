"""What is written while the demo is kept open."""

import asyncio
import io
from contextlib import suppress

import pytest
from aiokafka import AIOKafkaConsumer

from tokenmill.client import Connection, Publisher
from tokenmill.demo import live
from tokenmill.demo.broker import embedded_broker
from tokenmill.demo.samples import samples
from tokenmill.terminal.console import Terminal

pytestmark = pytest.mark.integration


async def test_answers_are_written_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each a message of its own; where they can be read is said last."""
    monkeypatch.setattr(live, "CHUNK_S", 0)
    monkeypatch.setattr(live, "REST_S", 0.01)
    said = io.StringIO()
    sample = next(sample for sample in samples() if sample.name == "hermes")
    with embedded_broker(["tokens"]) as bootstrap:
        async with Publisher(Connection(bootstrap)) as publisher:
            writing = asyncio.create_task(live.keep_writing(Terminal(file=said), publisher, sample, "http://g"))
            consumer = AIOKafkaConsumer("tokens", bootstrap_servers=bootstrap, auto_offset_reset="earliest")
            await consumer.start()
            try:
                async with asyncio.timeout(30):
                    async for record in consumer:
                        assert record.key == b"live"
                        if b"answer-2" in record.value:
                            break
            finally:
                await consumer.stop()
                writing.cancel()
                with suppress(asyncio.CancelledError):
                    await writing
    assert said.getvalue().splitlines()[-1] == "http://g/v1/conversations/live/events?from=now"
