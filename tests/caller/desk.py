"""A Kafka with the topics of one test, requests on them, and callers that come and go by hand."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple, Self

import msgspec
from aiokafka import ConsumerRecord

from tests.support.stage import until
from tests.support.topics import make_topics, read_topic
from tests.support.watching import Watching
from tests.support.written import told
from tokenmill.apis.record import RequestRecord
from tokenmill.caller.answer import Answer, Resources
from tokenmill.caller.caller import Caller
from tokenmill.caller.http import Http
from tokenmill.caller.inheritance import Inheritance, ReceivedRequest
from tokenmill.caller.renderer import Renderer
from tokenmill.caller.served import served
from tokenmill.caller.writing import ChunkWriter
from tokenmill.codecs import Chunk
from tokenmill.config import Caller as Settings
from tokenmill.config import Config, Kafka, Topics, Upstream
from tokenmill.gateway.ingest.pipelined_writer import RecordProducer
from tokenmill.gateway.ingest.producer import Producer
from tokenmill.observe import CALLER_METRICS, Numbers
from tokenmill.observe.caller_table import Fate

CONVERSATION = "talk"

LEASE_S = 1.0


class Settled(NamedTuple):
    """What became of a request."""

    fate: Fate
    answer: Answer | None
    text: str
    seconds: float
    """How long that took."""


def request(message_id: str, model: str = "cut-off", **more: Any) -> RequestRecord:
    """A chat completion, asked for now."""
    body = {"model": model, "messages": [{"role": "user", "content": f"say:{message_id}"}], "stream": True}
    until = int((time.time() + 60) * 1000)
    fields = {"message_id": message_id, "api": "chat", "fingerprint": message_id, "until": until, **more}
    return RequestRecord(body=msgspec.Raw(msgspec.json.encode(body)), **fields)


def inherited(message_id: str, model: str = "cut-off", age_s: float = 0.0) -> ReceivedRequest:
    """A request as the next owner of a partition finds it."""
    return ReceivedRequest(CONVERSATION, request(message_id, model), 0, int((time.time() - age_s) * 1000))


class Desk:
    """What callers of one test share."""

    def __init__(self, bootstrap: str, unique: str, url: str) -> None:
        kinds = ("requests", "tokens", "events", "tool_calls", "tool_results", "dlq")
        names = {kind: f"{kind}-{unique}" for kind in kinds}
        upstream: dict[str, Any] = {"kind": "vllm", "urls": [url], "model": "test-model", "format": "plain"}
        self.topics = Topics(**names)
        self.config = Config(
            kafka=Kafka(bootstrap_servers=bootstrap),
            topics=self.topics,
            upstreams=[
                Upstream(models=["cut-off"], **upstream),
                Upstream(models=["goes-on"], continues=True, **upstream),
            ],
        )
        self.producer = Producer(self.config.kafka, [self.topics.tokens, self.topics.requests])
        self._http = Http()
        self._renderer = Renderer()

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Desk"]:
        """With topics and a producer."""
        names = [getattr(self.topics, name) for name in ("requests", "tokens", "events")]
        async with AsyncExitStack() as stack:
            await make_topics(self.config.kafka.bootstrap_servers, *names, partitions=2)
            await self.producer.start()
            stack.push_async_callback(self.producer.stop)
            stack.push_async_callback(self._renderer.close)
            await stack.enter_async_context(self._http)
            yield self

    def writer(self, message_id: str, attempt: int = 0) -> ChunkWriter:
        """Of the caller before, or one more."""
        return ChunkWriter(self.producer, self.topics.tokens, CONVERSATION, message_id, attempt=attempt, native=True)

    async def wrote(self, message_id: str, *texts: str) -> ChunkWriter:
        """A caller that has begun, and has written so much."""
        writer = self.writer(message_id)
        await writer.open({"format": "plain"}, 1)
        for text in texts:
            await writer.put(Chunk(delta=text))
        await writer.acknowledged()
        return writer

    async def settled(self, *each: ReceivedRequest, parts_s: float | None = None) -> list[Settled]:
        """What the next owner makes of them; if it parts with the partition after so long, of some."""
        found: dict[str, Settled] = {}
        began = time.monotonic()

        def decide(one: ReceivedRequest, fate: Fate, answer: Answer | None, text: str) -> None:
            assert one.request.message_id not in found
            found[one.request.message_id] = Settled(fate, answer, text, time.monotonic() - began)

        async def partition_of(key: bytes) -> int:
            return await self.producer.partition(self.topics.tokens, key)

        work = Inheritance(self.config.kafka, self.topics.tokens, LEASE_S, partition_of, self.answer, decide)
        if parts_s is not None:
            asyncio.get_running_loop().call_later(parts_s, work.part)
        await work.settle(each)
        assert parts_s is not None or len(found) == len(each)
        return [found[one.request.message_id] for one in each if one.request.message_id in found]

    def resources(self, producer: RecordProducer | None = None) -> Resources:
        """Of a caller in this process."""
        way = producer or self.producer
        return Resources(served(self.config), way, way, self._http, self._renderer, self.topics.tokens, native=True)

    def answer(self, one: ReceivedRequest, attempt: int) -> Answer:
        """Of a caller that goes on."""
        return Answer(self.resources(), one.conversation, one.request, until_ms=one.until_ms, attempt=attempt)

    async def ask(self, *requests: RequestRecord, conversation: str = CONVERSATION) -> None:
        """Put requests on their topic."""
        for one in requests:
            await self.producer.send(self.topics.requests, conversation.encode(), msgspec.json.encode(one))

    async def records(self) -> Sequence[ConsumerRecord]:
        """What is on the topic of chunks."""
        return await read_topic(self.config.kafka.bootstrap_servers, self.topics.tokens)

    async def told(self) -> dict[str, list[str]]:
        """What a worker makes of it, by message."""
        return told([(record.value, list(record.headers)) for record in await self.records()])

    async def over(self) -> set[str]:
        """The messages whose answers are over."""
        return {message for message, said in (await self.told()).items() if said[-1].endswith("]")}


class Running:
    """A caller that runs as long as the block lasts."""

    def __init__(self, desk: Desk, drain_s: float = 0, name: str | None = None) -> None:
        """`name`: that of a static member."""
        settings = Settings(group_id=f"callers of {desk.topics.requests}", drain_s=drain_s)
        times = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 300}
        kafka = msgspec.structs.replace(desk.config.kafka, group_instance_id=name, **times)
        config = msgspec.structs.replace(desk.config, caller=settings, kafka=kafka)
        self.numbers = Numbers(CALLER_METRICS)
        self.caller = Caller(config, desk.resources(), Watching().finishes, self.numbers)
        self.stop = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._run = asyncio.create_task(self.caller.run(self.stop))
        await until(lambda: self.caller.readiness()[0], "it has its partitions")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop.set()
        await self._run

    def count(self, name: str) -> float:
        """A number of the caller's."""
        return self.numbers.value(f"tokenmill_caller_{name}")


def settings(desk: Desk, **caller: Any) -> dict[str, Any]:
    """Of a caller as a process of its own; the keyword arguments are those of its section."""
    config = desk.config
    return {
        "kafka": {
            "bootstrap_servers": config.kafka.bootstrap_servers,
            "session_timeout_ms": 1_500,
            "heartbeat_interval_ms": 300,
            "rebalance_timeout_ms": 10_000,
            "request_timeout_ms": 15_000,
        },
        "topics": msgspec.to_builtins(config.topics),
        "caller": {"lease_s": LEASE_S, "drain_s": 2, "group_id": f"callers of {config.topics.requests}", **caller},
        "upstreams": [msgspec.to_builtins(upstream) for upstream in config.upstreams],
    }
