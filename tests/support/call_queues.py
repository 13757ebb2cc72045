"""A desk on topics of its own, and what it wrote there."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
from aiokafka import TopicPartition

from tests.support.topics import make_topics, read_topic
from tokenmill.config import Config, Kafka, Tools, Topics
from tokenmill.events import ToolCall, ToolProgress, ToolResult, decode_event
from tokenmill.kafka.clients import make_producer
from tokenmill.kafka.transaction import Transaction
from tokenmill.records import InputRecord
from tokenmill.tools.call import Call, Written
from tokenmill.tools.call_queue import CallQueue
from tokenmill.tools.concurrency_limits import ConcurrencyLimits
from tokenmill.tools.control import Orders
from tokenmill.tools.outcome import Outcome, Progress

Run = Callable[[Call], Awaitable[Outcome]]


class Functions:
    """Servers whose tools are a function."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def look(self, call: Call) -> str | Outcome:
        return f"as it is: {call.name}"

    async def make(self, call: Call, fingerprint: str, progress: Callable[[Progress], None]) -> Outcome:
        assert fingerprint == (f"as it is: {call.name}" if call.name == "w__risky" else "")
        progress(Progress(1, 2, "half-way"))
        return await self._run(call)


FUTURE_MS = 2_000_000_000_000
"""Far in the future: no call has expired."""


async def config_of(kafka: str, unique: str, **tools: Any) -> Config:
    """Topics of one partition."""
    names = {key: f"{key}-{unique}" for key in ("tool_calls", "tool_results", "tool_state", "tool_control")}
    for name in names.values():
        await make_topics(kafka, name, partitions=1)
    return Config(
        kafka=Kafka(bootstrap_servers=kafka, group_id=unique),
        topics=Topics(**names),
        tools=Tools(**tools),
    )


@asynccontextmanager
async def desk_of(
    config: Config, run: Run, limits: ConcurrencyLimits | None = None, orders: Orders | None = None
) -> AsyncIterator[CallQueue]:
    """A queue that has fenced the owner before it, and has read what is known."""
    name, topics = config.kafka.group_id, config.topics
    make = partial(make_producer, config.kafka, transactional_id=name, transaction_timeout_ms=10_000)
    transaction = Transaction(make, name, name, 10, lambda _: None)
    ended = list[Outcome]()
    place = TopicPartition(topics.tool_calls, 0)
    servers = Functions(run)
    queue = CallQueue(
        place, config, transaction, limits or ConcurrencyLimits(9, 9), servers, orders or Orders(), ended.append
    )
    await transaction.open()
    try:
        for record in await read_topic(config.kafka.bootstrap_servers, topics.tool_state):
            queue.read(record.key, record.value, record.offset)
        yield queue
    finally:
        await queue.close()


def record(offset: int, id_: str, tool: str = "note") -> InputRecord:
    event = ToolCall(id_, f"w__{tool}", {}, conversation_id="c", message_id="m", seq=1, time=1)
    return InputRecord("tool-calls", 0, offset, FUTURE_MS, b"c", msgspec.json.encode(event), [("tm-opened", b"7")])


async def states(config: Config) -> list[tuple[str, str]]:
    """The calls and their stages, as the next owner reads them."""
    records = await read_topic(config.kafka.bootstrap_servers, config.topics.tool_state)
    return [
        (msgspec.json.decode(each.key)[-1], msgspec.json.decode(each.value, type=Written).stage) for each in records
    ]


async def results(config: Config) -> list[ToolResult]:
    found = [decode_event(each.value) for each in await _published(config)]
    return [event for event in found if isinstance(event, ToolResult)]


async def progress(config: Config) -> list[ToolProgress]:
    found = [decode_event(each.value) for each in await _published(config)]
    return [event for event in found if isinstance(event, ToolProgress)]


async def _published(config: Config) -> list[Any]:
    return await read_topic(config.kafka.bootstrap_servers, config.topics.tool_results)
