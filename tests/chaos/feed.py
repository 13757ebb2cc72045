"""Conversations without an end: hundreds at once, a chunk of one, a chunk of another, whatever the broker does.

They take turns, in another order each time, so that none waits for its time-out however few chunks a second there are.
"""

import asyncio
import json
import random
from collections.abc import Iterator
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from tests.support.conversations import TEXTS, TOOLS, chunks_of

LIVE = 330
"""Conversations at once: above the 300 that a run is about, as some have just ended."""

BATCH = 30

OPEN_FORMAT = "default"
"""Conversations with this in their name say no format: that of the configuration holds, which changes."""

SHARE_OF_DEFAULT = 0.15

REQUEST_MS = 120_000
"""A broker that was killed is back in time for this."""

Chunks = Iterator[dict[str, Any] | bytes]


class Feeder:
    """Sends until it is told that it is enough; what is still going on then gets no end."""

    def __init__(self, bootstrap: str, topic: str, seed: int, rate: float) -> None:
        """`rate` is about how many chunks a second."""
        self._pause_s = BATCH / rate
        self._bootstrap = bootstrap
        self._topic = topic
        self._dice = random.Random(f"feed {seed}")
        self._running: list[tuple[str, Chunks]] = []
        self._begun: set[str] = set()
        self._turns: list[int] = []
        """Places of those whose turn is yet to come."""
        self.enough = asyncio.Event()
        self.sent = 0
        self.started = 0
        """Conversations so far."""
        self.failures: list[str] = []
        """What kept it from sending; it goes on with the next chunks."""

    @property
    def live(self) -> int:
        """Conversations of which some was sent, and not all."""
        return len(self._begun)

    async def run(self) -> None:
        """Send, a batch at a time."""
        producer = await self._producer()
        try:
            while not self.enough.is_set():
                try:
                    await self._send(producer, [self._next() for _ in range(BATCH)])
                except KafkaError as problem:
                    self.failures.append(repr(problem))
                    await producer.stop()
                    producer = await self._producer()
                await asyncio.sleep(self._pause_s)
        finally:
            await producer.stop()

    async def _producer(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap, enable_idempotence=True, request_timeout_ms=REQUEST_MS
        )
        await producer.start()
        return producer

    async def _send(self, producer: AIOKafkaProducer, chunks: list[tuple[str, dict[str, Any] | bytes]]) -> None:
        futures = []
        for key, chunk in chunks:
            value = json.dumps(chunk).encode() if isinstance(chunk, dict) else chunk
            futures.append(await producer.send(self._topic, value, key=key.encode()))
        await asyncio.gather(*futures)
        self.sent += len(chunks)

    def _next(self) -> tuple[str, dict[str, Any] | bytes]:
        while len(self._running) < LIVE:
            self._running.append(self._conversation())
        self._turns = self._turns or self._dice.sample(range(LIVE), LIVE)
        place = self._turns.pop()
        name, chunks = self._running[place]
        chunk = next(chunks, None)
        if chunk is None:
            self._running[place] = self._conversation()
            self._begun.discard(name)
            return self._next()
        self._begun.add(name)
        return name, chunk

    def _conversation(self) -> tuple[str, Chunks]:
        self.started += 1
        default = self._dice.random() < SHARE_OF_DEFAULT
        name = f"{OPEN_FORMAT if default else 'pinned'}-{self.started}"
        chunks = (without_format if default else chunks_of)(name, random.Random(name))
        return name, opened_once(chunks)


def opened_once(chunks: Chunks) -> Chunks:
    """Without repeats of an opening: should its message be lost in between, that would open it again, by contract."""
    last: object = None
    for chunk in chunks:
        if isinstance(chunk, bytes) or "open" not in chunk or chunk != last:
            yield chunk
        last = chunk


def without_format(name: str, dice: random.Random) -> Chunks:
    """Messages of two choices that leave the format to the configuration; each format reads their text differently."""
    for number in range(dice.randint(1, 2)):
        streams = {choice: _stream(f"{name}-{number}", choice, dice) for choice in (0, 1)}
        while streams:
            choice = dice.choice(list(streams))
            if (chunk := next(streams[choice], None)) is None:
                del streams[choice]
            else:
                yield chunk


def _stream(message: str, choice: int, dice: random.Random) -> Iterator[dict[str, Any]]:
    text = f"{message} says: " + " and ".join(dice.choices([TEXTS["hermes"], TEXTS["qwen3_xml"]], k=2))
    base: dict[str, Any] = {"message_id": message, "choice": choice}
    at = seq = 0
    while at < len(text):
        step = dice.randint(3, 15)
        chunk = base | {"seq": seq, "delta": text[at : at + step]}
        yield chunk if seq else chunk | {"open": {"tools": TOOLS}}
        at, seq = at + step, seq + 1
    yield base | {"seq": seq, "finish_reason": "stop"}
