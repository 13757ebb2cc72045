"""How long clients wait for a gateway: to come back to the middle of an answer, to join late, to stop one.

A worker and two gateways share a Kafka: the first runs while the answers are written, and has them in its window; the
second starts after them and reads the log. One client asks at a time, over a connection of its own each time, with the
standard library; the time that this takes by itself is in the first row, where there is nothing to read.
"""

import asyncio
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tokenmill.bench.gateway_report import Wait
from tokenmill.bench.kafka import created
from tokenmill.client import Connection, Publisher
from tokenmill.errors import FatalError
from tokenmill.servers.gateway import GatewayProcess
from tokenmill.servers.ours import Settings
from tokenmill.servers.redis import RedisServer
from tokenmill.servers.worker import WorkerProcess

SHORT, LONG = 400, 4_000
"""Tokens of an answer: a page of text, and about as much as a model writes."""

DIALECTS = ("native", "ai_sdk_ui")
"""A dialect without a state, and one whose state begins with the message."""

TIMES, STOPS = 200, 150
"""Number of measurements of each kind: enough for a p99."""

BUDGETS_MS = {"window": 5.0, "log": 50.0}
LATE_MS = 100.0
STOP_MS = 250.0
"""Milliseconds that the p99 of a stop should not exceed."""

TIMEOUT_S = 30.0

_ID = re.compile(rb"^id: ?(\S+)$", re.MULTILINE)


def measure_waits(folder: Path, bootstrap: str) -> list[Wait]:
    """Measure each kind of wait, on this Kafka."""
    with ExitStack() as stack:
        redis = stack.enter_context(RedisServer(folder / "redis"))
        return asyncio.run(_measured(folder, bootstrap, redis.url))


TOPICS = {name: f"waits-{name}" for name in ("tokens", "events", "dlq")} | {"tool_calls": "waits-tool-calls"}


def _settings(bootstrap: str, redis_url: str) -> Settings:
    return {
        "kafka": {"bootstrap_servers": bootstrap, "group_id": "waits"},
        "redis": {"url": redis_url, "key_prefix": "waits"},
        "topics": TOPICS,
    }


async def _measured(folder: Path, bootstrap: str, redis_url: str) -> list[Wait]:
    settings = _settings(bootstrap, redis_url)
    async with (
        created(bootstrap, list(TOPICS.values())),
        Publisher(Connection(bootstrap), topic=TOPICS["tokens"]) as publisher,
    ):
        with WorkerProcess(folder / "worker", settings), _gateway(folder / "window", settings) as window:
            ids = {tokens: await _answered(publisher, window, tokens) for tokens in (SHORT, LONG)}
            with _gateway(folder / "log", settings) as log:
                asks, dice = _asks(ids, {"window": window, "log": log}), random.Random(0)  # noqa: S311 -- repeatable
                waits = [await asyncio.to_thread(_waited, ask, dice) for ask in asks]
            return [*waits, await _stops(publisher, window)]


@contextmanager
def _gateway(folder: Path, settings: Settings) -> Iterator["_Client"]:
    shared = {name: settings[name] for name in ("kafka", "topics")}
    with GatewayProcess(folder, {**shared, "gateway": {}}) as gateway:
        yield _Client(gateway.port)


async def _answered(publisher: Publisher, window: "_Client", tokens: int) -> list[str]:
    """Return the ids of an answer's frames, read as they come."""
    path = f"{_events(tokens)}&from=start"
    reading = asyncio.create_task(asyncio.to_thread(window.all, path))
    message = publisher.message(_conversation(tokens), open={"format": "plain"})
    for _ in range(tokens):
        await message.text("word ")
    await message.finish()
    ids = [found.decode() for found in _ID.findall(await reading)]
    if len(ids) < tokens:
        raise FatalError(f"{len(ids)} frames came of an answer of {tokens} tokens")
    return ids


def _conversation(tokens: int) -> str:
    return f"answer-of-{tokens}"


def _events(tokens: int) -> str:
    return f"{_conversation(tokens)}/events?until=finish"


class _Client:
    """A client of one gateway."""

    def __init__(self, port: int) -> None:
        self._port = port

    @contextmanager
    def asked(self, path: str, last: str = "", body: bytes | None = None) -> Iterator[HTTPResponse]:
        """Return the start of the answer; a request with a body is posted."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_S)
        headers = {"content-type": "application/json"} | ({"last-event-id": last} if last else {})
        try:
            connection.request("POST" if body else "GET", f"/v1/conversations/{path}", body, headers)
            answer = connection.getresponse()
            if answer.status >= HTTPStatus.BAD_REQUEST:
                raise FatalError(f"the gateway answers {answer.status} to {path}: {answer.read().decode()}")
            yield answer
        finally:
            connection.close()

    def all(self, path: str) -> bytes:
        """Return the whole answer."""
        with self.asked(path) as answer:
            return answer.read()

    def waited(self, ask: "_Ask", last: str) -> tuple[float, int]:
        """Return the seconds until the awaited part is there, and the bytes of the whole answer.

        The answer is read to its end in any case: a gateway is not asked while it still works for a client that left.
        """
        began = time.perf_counter()
        with self.asked(ask.path, last) as answer:
            came = answer.read() if ask.whole else _until(b"data:", answer)
            took = time.perf_counter() - began
            return took, len(came) + len(answer.read())


def _until(words: bytes, answer: HTTPResponse) -> bytes:
    came = b""
    while words not in came and (piece := answer.read1()):
        came += piece
    return came


class _Ask(NamedTuple):
    """A request that is made many times."""

    name: str
    client: _Client
    path: str
    lasts: Sequence[str] = ("",)
    """Last event ids, one of which the client has."""
    whole: bool = False
    """Whether to wait for the whole answer, not for its first event."""
    budget_ms: float = 0


def _asks(ids: Mapping[int, Sequence[str]], gateways: Mapping[str, _Client]) -> Iterator[_Ask]:
    yield _Ask("behind an answer's end, where nothing is read", gateways["window"], _events(SHORT), ids[SHORT][-1:])
    for (tokens, each), (place, client), dialect in product(ids.items(), gateways.items(), DIALECTS):
        name = f"back to the middle of {tokens:,} tokens, {dialect}, from the {place}"
        yield _Ask(name, client, f"{_events(tokens)}&dialect={dialect}", each[5:-5], budget_ms=BUDGETS_MS[place])
    for place, client in gateways.items():
        path = f"{_events(LONG)}&from=start&replay=folded"
        yield _Ask(
            f"late to {LONG:,} tokens, all of it, folded, from the {place}", client, path, whole=True, budget_ms=LATE_MS
        )


def _waited(ask: _Ask, dice: random.Random) -> Wait:
    """Ask one after another; the first wait, for connections and caches, is not counted."""
    waits = [ask.client.waited(ask, dice.choice(ask.lasts)) for _ in range(TIMES + 1)][1:]
    return Wait.of(ask.name, [took for took, _ in waits], ask.budget_ms, max(size for _, size in waits))


async def _stops(publisher: Publisher, window: _Client) -> Wait:
    """Measure from each stop, after the first token, until the answer's last event."""
    took = []
    for number in range(STOPS):
        message = publisher.message(f"stopped-{number}", open={"format": "plain"})
        await message.text("word ")
        took.append(await asyncio.to_thread(_stopped, window, message.conversation_id))
    return Wait.of("a stop, until the last event", took, STOP_MS)


def _stopped(window: _Client, conversation: str) -> float:
    with window.asked(f"{conversation}/events?from=start&until=finish") as answer:
        _until(b"text-delta", answer)
        began = time.perf_counter()
        with window.asked(f"{conversation}/stop", body=b"{}"):
            _until(b'"finish"', answer)
        return time.perf_counter() - began
