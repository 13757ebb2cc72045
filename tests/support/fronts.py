"""A front in the test's own process, on a real Kafka; what comes of its requests the test says, as a worker would.

Model servers, callers and workers are not in it: the requests that it writes are answered by functions, event by event.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import ClientResponse, ClientSession
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from tests.support.gateways import Speaker
from tests.support.stage import until
from tests.support.topics import make_topics
from tokenmill.apis.record import ReaderRecord, RequestRecord, read_request
from tokenmill.caller.served import served
from tokenmill.config import Config, Front, Gateway, Kafka, Topics, Upstream
from tokenmill.front.host import Process
from tokenmill.gateway.auth.grant import Action, Credentials, Grant
from tokenmill.process import Deadline
from tokenmill.records import Output
from tokenmill.servers.process import answer_of, free_port

PARTITIONS = 2

Chunk = dict[str, Any]

UPSTREAMS = [
    Upstream(models=["m", "org/model"], kind="vllm", urls=["http://127.0.0.1:9"], format="hermes"),
    Upstream(models=["claude"], kind="anthropic", urls=["http://127.0.0.1:9"]),
]
"""They are never called."""

WORDS: list[Chunk] = [
    {"delta": "Hello "},
    {"delta": "there."},
    {"finish_reason": "stop", "usage": {"prompt_tokens": 3}},
]
"""An answer."""


class Asked:
    """A request that the front wrote, and the message that answers it."""

    def __init__(self, stage: "FrontStage", conversation: str, record: RequestRecord) -> None:
        self.conversation = conversation
        self.record = record
        self._stage = stage
        self._speaker = Speaker(conversation, record.message_id)

    @property
    def body(self) -> dict[str, Any]:
        return dict(msgspec.json.decode(self.record.body))

    async def say(self, *chunks: Chunk) -> None:
        """What a worker makes of these chunks; the first one opens the message."""
        for chunk in chunks:
            await self._put(self._speaker.says(chunk))

    def behind(self, milliseconds: int) -> None:
        """From now on the clock of its caller is behind."""
        self._speaker.began -= milliseconds

    async def lose(self) -> None:
        """What a worker says that has lost the message."""
        await self._put(self._speaker.lost())

    async def _put(self, records: Iterable[Output]) -> None:
        for record in records:
            await self._stage.put(record.key or b"", record.value or b"", list(record.headers), record.timestamp)

    async def answer(self, *chunks: Chunk) -> None:
        """All of an answer: opened, said, ended."""
        await self.say({"open": {"format": "plain", "model": "m"}}, *(chunks or WORDS))


Answer = Callable[[Asked], Awaitable[None]]


async def answered(asked: Asked) -> None:
    """By a few words."""
    await asked.answer()


class FrontStage:
    """A front, and what it wrote."""

    def __init__(self, config: Config, producer: AIOKafkaProducer, answer: Answer) -> None:
        self.config = config
        self.answer = answer
        self.asked: list[Asked] = []
        self.readers: list[str] = []
        """Ids of messages that another front reads, as fronts said."""
        self.cancelled: list[str] = []
        """Message ids that were stopped."""
        self.session = ClientSession()
        self._producer = producer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.config.front.port}"

    async def put(self, key: bytes, value: bytes, headers: list[tuple[str, bytes]], time_ms: int) -> None:
        """An event, where workers put it."""
        await self._producer.send(self.config.topics.events, value, key=key, headers=headers, timestamp_ms=time_ms)

    def post(self, path: str, body: Mapping[str, Any] | bytes, **headers: str) -> Any:
        """A request, whose response is a context manager."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return self.session.post(self.url + path, data=data, headers={"content-type": "application/json", **named})

    async def read(self, consumer: AIOKafkaConsumer) -> None:
        """Answer what the front writes, until cancelled."""
        async with asyncio.TaskGroup() as group:
            async for record in consumer:
                if record.topic == self.config.topics.tokens:
                    chunk = msgspec.json.decode(record.value)
                    self.cancelled += [chunk["message_id"]] if chunk.get("control") == "cancel" else []
                    continue
                request = read_request(record.value)
                if isinstance(request, ReaderRecord):
                    self.readers.append(request.message_id)
                if isinstance(request, RequestRecord):
                    asked = Asked(self, record.key.decode(), request)
                    self.asked.append(asked)
                    group.create_task(_carefully(self.answer, asked))


async def _carefully(answer: Answer, asked: Asked) -> None:
    await answer(asked)


async def told(response: ClientResponse) -> list[dict[str, Any] | str]:
    """The payloads of a stream."""
    lines = [line.strip() async for line in response.content]
    data = [line.removeprefix(b"data: ") for line in lines if line.startswith(b"data: ")]
    return [msgspec.json.decode(each) if each.startswith(b"{") else each.decode() for each in data]


@asynccontextmanager
async def fronting(
    kafka: str, unique: str, answer: Answer = answered, *, gateway: Gateway | None = None, **front: Any
) -> AsyncIterator[FrontStage]:
    """A front with these settings, on topics of its own."""
    topics = Topics(tokens=f"tokens-{unique}", events=f"events-{unique}", requests=f"requests-{unique}")
    await make_topics(kafka, topics.tokens, topics.events, topics.requests, partitions=PARTITIONS)
    settings = Front(port=free_port(), ops_bind="127.0.0.1", ops_port=free_port(), **front)
    config = Config(
        kafka=Kafka(bootstrap_servers=kafka),
        topics=topics,
        front=settings,
        gateway=gateway or Gateway(flush_ms=1),
        upstreams=UPSTREAMS,
    )
    async with another(config), AIOKafkaProducer(bootstrap_servers=kafka) as producer:
        stage = FrontStage(config, producer, answer)
        consumer = AIOKafkaConsumer(
            topics.requests, topics.tokens, bootstrap_servers=kafka, auto_offset_reset="earliest", fetch_max_wait_ms=20
        )
        async with consumer:
            reading = asyncio.create_task(stage.read(consumer))
            try:
                yield stage
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
                await stage.session.close()


class _NoDeadline(Deadline):
    """Ends nothing, and says nothing beside later tests."""

    def start(self, seconds: float, why: str) -> None:
        """Nothing."""


@asynccontextmanager
async def another(config: Config) -> AsyncIterator[Config]:
    """A front with this configuration, as long as the block lasts."""
    stop = asyncio.Event()
    process = Process(config, served(config), front=True, caller=False)
    process._deadline = _NoDeadline()  # this process outlives it
    running = asyncio.create_task(process.run(stop))
    try:
        ready = f"http://127.0.0.1:{config.front.ops_port}/readyz"
        await until(lambda: running.done() or _answers(ready), "the front is ready")
        if running.done():
            running.result()
        yield config
    finally:
        stop.set()
        await running


async def _answers(url: str) -> bool:
    return await asyncio.to_thread(answer_of, url) is not None


def now_ms() -> int:
    return int(time.time() * 1000)


async def anonymous(_: Credentials) -> Grant | None:
    """Anybody, under no name."""
    return Grant("", ("open-*",), frozenset({"read", "write"}))


async def by_key(credentials: Credentials) -> Grant | None:
    """Grant each key the rights of its name, to conversations of its own; `reader` may only read."""
    name = credentials.key
    if name not in ("alice", "bob", "reader"):
        return None
    actions: frozenset[Action] = frozenset({"read"} if name == "reader" else {"read", "stop", "write"})
    return Grant(name, (f"{name}-*",), actions)
