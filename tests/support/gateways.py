"""A gateway in the test's own process, on a real Kafka, and answers to put on its log."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import msgspec
from aiohttp import web
from aiokafka import AIOKafkaProducer
from aiokafka.structs import RecordMetadata

from tests.support.serving_app import serving_app
from tests.support.stage import until
from tests.support.topics import grow_topics, make_topics
from tokenmill.config import Gateway, Kafka
from tokenmill.dialects import Renderer, find_dialect
from tokenmill.events import decode_event
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.authorizer import AllowAll
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.auth.grant import Authorizer
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.event_log.window import Window
from tokenmill.gateway.http.app import client_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.http.unmatched import server_log
from tokenmill.gateway.routes.events import EventRoutes
from tokenmill.gateway.streams.service import StreamService
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output
from tokenmill.tasks import beside

Routes = Callable[[StreamService], Iterable[web.RouteDef]]


class Speaker:
    """What a worker makes of the chunks of one message: native records."""

    def __init__(self, conversation: str, message: str) -> None:
        self._partition = Partition(PartitionSettings(outputs=(OutputSpec("events"),), dlq="dlq"), "tokens", 0)
        self._key = conversation.encode()
        self._message = message
        self.began = int(time.time() * 1000)
        """Time of its first record."""
        self._offset = 0

    def says(self, chunk: Mapping[str, Any]) -> list[Output]:
        """The records of the next chunk."""
        out = list[Output]()
        value = msgspec.json.encode({"message_id": self._message, **chunk})
        record = InputRecord("tokens", 0, self._offset, self.began + self._offset, self._key, value)
        self._partition.process([record], out)
        self._offset += 1
        return [record for record in out if record.topic == "events"]

    def lost(self) -> list[Output]:
        """The records of a message whose state is gone."""
        out = list[Output]()
        self._partition.lose_open(out, "its state is gone")
        return out


def answer(
    conversation: str, message: str, texts: Sequence[str], *, finish: bool = True, **opening: Any
) -> list[Output]:
    """The native records of an answer, as a worker would write them."""
    speaker = Speaker(conversation, message)
    chunks: list[dict[str, Any]] = [{"delta": text} for text in texts]
    chunks[0]["open"] = {"format": "plain", "model": "some-model", **opening}
    if finish:
        chunks.append({"finish_reason": "stop"})
    return [record for chunk in chunks for record in speaker.says(chunk)]


def shown(records: Iterable[Output], dialect: str) -> list[bytes]:
    """What the library makes of records in a dialect: what every client has to get."""
    if dialect == "native":
        return [record.value or b"" for record in records]
    renderer = Renderer(find_dialect(dialect))
    return [payload for record in records for payload in renderer.render(decode_event(record.value or b""))]


def payloads(body: bytes) -> list[bytes]:
    """The payloads in the frames of a stream of server-sent events."""
    lines = (line for block in body.split(b"\n\n") if b"id: " in block for line in block.split(b"\n"))
    return [line.removeprefix(b"data: ") for line in lines if line.startswith(b"data: ")]


def admission(authorizer: Authorizer | None = None) -> Admission:
    """Lets every client in, or those that the authorizer does."""
    return Admission(authorizer or AllowAll(), ConnectionLimits(100, 100))


class Gate:
    """A gateway that listens."""

    def __init__(self, serving: StreamService, producer: AIOKafkaProducer, topic: str, port: int) -> None:
        self.serving = serving
        self.port = port
        self._producer = producer
        self._topic = topic

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def attended(self, clients: int = 1) -> None:
        """Wait until so many clients are at the head."""
        await until(lambda: len(self.serving.flusher.streams) >= clients, f"{clients} clients are at the head")

    async def cut(self) -> None:
        """Cut off all clients, as a process that ends does, and wait until they are gone."""
        for stream in self.serving.flusher.streams:
            stream.end("drained")
        await self.serving.flusher.emptied()

    async def grow(self, bootstrap: str, partitions: int) -> None:
        """Add partitions, and wait until the gateway and the producer know of them."""
        await grow_topics(bootstrap, self._topic, partitions=partitions)
        await until(lambda: self.serving.tail.has(partitions - 1), "the gateway knows of the new partitions")
        await self._producer.client.force_metadata_update()

    async def say(self, records: Iterable[Output], partition: int | None = None) -> Sequence[RecordMetadata]:
        """Put records on the log, where producers put them or on this partition, and wait until they are there."""
        at_home = self.serving.tail.partition_of
        sent = [
            await self._producer.send(
                self._topic,
                record.value,
                key=record.key,
                partition=at_home(record.key or b"") if partition is None else partition,
                headers=list(record.headers),
                timestamp_ms=record.timestamp,
            )
            for record in records
        ]
        return await asyncio.gather(*sent)

    async def hear(self, records: Iterable[Output]) -> None:
        """Put records on the log, and wait until the gateway has read them: a client that comes back is shown them."""
        ends = {record.partition: record.offset for record in await self.say(records)}
        for partition, end in ends.items():
            window = await self.serving.tail.pin(partition)
            await until(partial(_has, window, end), "the gateway has it")
            self.serving.tail.unpin(partition)


def _has(window: Window, offset: int) -> bool:
    return window.end > offset


@asynccontextmanager
async def listening(
    bootstrap: str, unique: str, routes: Routes | None = None, authorizer: Authorizer | None = None, **settings: Any
) -> AsyncIterator[Gate]:
    """A gateway with these settings, and further routes, on a topic of its own with two partitions."""
    topic = f"events-{unique}"
    await make_topics(bootstrap, topic, partitions=2)
    gateway = Gateway(**{"lookback_s": 1e9, **settings})
    kafka, counts = Kafka(bootstrap_servers=bootstrap), Counts()
    serving = StreamService.of_topic(kafka, topic, gateway, counts)
    async with AsyncExitStack() as stack:
        producer = await stack.enter_async_context(AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=2))
        await serving.tail.start(20)
        stack.push_async_callback(serving.stop)
        for name, run in serving.parts.items():
            await stack.enter_async_context(beside(run(), name))
        admission = Admission(
            authorizer or AllowAll(), ConnectionLimits(gateway.connections, gateway.connections_per_principal)
        )
        all_routes = [*EventRoutes(serving, admission).routes(), *(routes(serving) if routes else ())]
        app = client_app(all_routes, serving.counts, Origins(gateway), IdleConnections(), gateway.body_kib * 1024)
        port = await stack.enter_async_context(
            serving_app(app, handler_cancellation=True, access_log=None, logger=server_log(), shutdown_timeout=0.1)
        )
        yield Gate(serving, producer, topic, port)
