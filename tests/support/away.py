"""A Kafka that goes away while a topic is read up to its end."""

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaConnectionError

from tokenmill.kafka import to_end


def goes_away_while_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first poll on nothing comes, and no question is answered."""

    async def unanswered(*_: object) -> None:
        raise KafkaConnectionError("it is away")

    async def nothing(consumer: AIOKafkaConsumer, *_: object, **__: object) -> dict[Any, Any]:
        monkeypatch.setattr(consumer, "end_offsets", unanswered)
        await asyncio.sleep(0)  # a poll of nothing waits
        return {}

    monkeypatch.setattr(to_end, "SILENT_S", 0)
    monkeypatch.setattr(AIOKafkaConsumer, "getmany", nothing)
