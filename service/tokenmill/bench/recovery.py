"""How fast a worker restores its state: from snapshots in Redis, and without them by reading the log again.

Times are the worker's own: from its assignment until the slowest of its partitions is live.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import chain
from statistics import median

import msgspec
import redis

from tokenmill.bench.clock import Progress, median_ratio
from tokenmill.bench.kafka import created, ends, preload
from tokenmill.bench.load import PARTITIONS, Load, Record
from tokenmill.bench.texts import PLAIN, TOOLS, chunks_of
from tokenmill.bench.throughput import run_side
from tokenmill.bench.workbench import AT_LEAST_ONCE, Workbench, ground, new_group
from tokenmill.config import Kafka
from tokenmill.errors import FatalError
from tokenmill.kafka.topic_log import cluster_id
from tokenmill.servers import RedisServer
from tokenmill.servers.process import Server
from tokenmill.store import RedisStore

POLL_S = 0.2

OPENED_S = 600.0
"""Seconds for opening all messages, and for the snapshot of the last of them."""

STORE_S = 5.0
"""Seconds for one command to a Redis that holds all of it."""

_LIVE = re.compile(r"/(\d+): live at (\d+) after ([\d.]+) s, from (\w+)")


class OpenMessages(Load, frozen=True):
    """Records of messages that are opened, get some text, and stay open; tools are the same for all."""

    def __iter__(self) -> Iterator[Record]:
        for number in range(self.messages):
            for value in _OPENING:
                yield number % PARTITIONS, b"conversation-%d" % number, value

    @property
    def messages(self) -> int:
        """Return the number of messages."""
        return self.records // len(_OPENING)

    @classmethod
    def of(cls, messages: int) -> "OpenMessages":
        """Return the load of a number of messages."""
        return cls(messages * len(_OPENING))


class Unforgotten(Load, frozen=True):
    """The pipeline's load after a message on each partition that never ends, with which a replay has to begin."""

    def __iter__(self) -> Iterator[Record]:
        first = ((number, b"unended-%d" % number, _OPENING[0]) for number in range(PARTITIONS))
        return chain(first, Load(self.records - PARTITIONS))


def _opening() -> list[bytes]:
    text = chunks_of(PLAIN)[:3]
    chunks: list[dict[str, object]] = [{"message_id": "m1", "seq": seq, "delta": each} for seq, each in enumerate(text)]
    return [msgspec.json.encode(chunk) for chunk in [{**chunks[0], "open": {"tools": TOOLS}}, *chunks[1:]]]


_OPENING = _opening()


class Replayed(msgspec.Struct, frozen=True):
    """One round: the same records live, then silently."""

    live_per_s: float
    silent_per_s: float


class Recovery(msgspec.Struct, frozen=True):
    """The whole benchmark."""

    partitions: int
    messages: int
    bytes_per_message: float
    """Bytes of the snapshot per message: names and values of fields."""
    restored_per_s: list[float]
    """Open messages per second, by round."""
    records: int
    replays: list[Replayed]

    @property
    def restore_rate(self) -> float:
        """Return the median, in open messages per second."""
        return median(self.restored_per_s)

    @property
    def silent_rate(self) -> float:
        """Return the median, in records per second."""
        return median(each.silent_per_s for each in self.replays)

    @property
    def replay_ratio(self) -> float:
        """Return the rate of a silent replay over the live rate: the median of the ratios of all rounds."""
        return median_ratio([each.silent_per_s for each in self.replays], [each.live_per_s for each in self.replays])


def run_recovery(*, bootstrap: str | None, messages: int, records: int, rounds: int, progress: Progress) -> Recovery:
    """Measure on the Kafka at `bootstrap`, or on one started for it. Raises `FatalError` if a restore goes wrong."""
    with ground(bootstrap, progress) as servers:
        restored, size = asyncio.run(_restores(servers.workbench(), OpenMessages.of(messages), rounds, progress))
        replays = asyncio.run(_replays(servers.workbench(), Unforgotten(records), servers.redis, rounds, progress))
    return Recovery(PARTITIONS, messages, size, restored, records, replays)


# From Redis


async def _restores(
    workbench: Workbench, load: OpenMessages, rounds: int, progress: Progress
) -> tuple[list[float], float]:
    async with created(workbench.bootstrap, workbench.topics) as admin:
        progress(f"opening {load.messages:,} messages")
        await preload(workbench.bootstrap, workbench.tokens, load)
        group = new_group()
        async with _worker(workbench, group) as worker:
            async with asyncio.timeout(OPENED_S):
                await workbench.watch(admin, group, worker).reached(load.records)
            size = await _snapshot_bytes(workbench, group) / load.messages
        rates = []
        for number in range(rounds):
            async with _worker(workbench, group) as worker:
                rates.append(load.messages / _recovered(worker, "redis"))
            progress(f"from Redis, run {number + 1} of {rounds}: {rates[-1]:,.0f} messages/s")
        return rates, size


async def _snapshot_bytes(workbench: Workbench, group: str) -> int:
    """Wait until everything that is committed is in Redis; return its size there."""
    cluster = await cluster_id(Kafka(bootstrap_servers=workbench.bootstrap))
    store = RedisStore(workbench.redis_url, group=group, cluster=cluster, prefix=group, timeout=STORE_S)
    try:
        async with asyncio.timeout(OPENED_S):
            wanted = {tp.partition: end for tp, end in (await ends(workbench.bootstrap, [workbench.tokens])).items()}
            for number, end in wanted.items():
                while True:
                    head = await store.head(workbench.tokens, number)
                    if head is not None and head.offset == end:
                        break
                    await asyncio.sleep(POLL_S)
        snapshots = [await store.load(workbench.tokens, number) for number in wanted]
        fields = (item for each in snapshots if each is not None for item in each.fields.items())
        return sum(len(name) + len(value) for name, value in fields)
    finally:
        await store.close()


# By replay


async def _replays(
    workbench: Workbench, load: Unforgotten, cache: RedisServer, rounds: int, progress: Progress
) -> list[Replayed]:
    async with created(workbench.bootstrap, workbench.topics) as admin:
        progress(f"putting {load.records:,} records on the topic")
        await preload(workbench.bootstrap, workbench.tokens, load)
        found = []
        for number in range(rounds):
            group = new_group()
            live = await run_side(workbench, AT_LEAST_ONCE, load, admin, None, group)
            with redis.Redis(port=cache.port) as client:
                client.flushall()
            async with _worker(workbench, group) as worker:
                found.append(Replayed(live.records_per_s, load.records / _recovered(worker, "replay")))
            told = f"{found[-1].live_per_s:,.0f} records/s live, {found[-1].silent_per_s:,.0f} silently"
            progress(f"run {number + 1} of {rounds}: {told}")
        return found


# Both


@asynccontextmanager
async def _worker(workbench: Workbench, group: str) -> AsyncIterator[Server]:
    """Yield a worker of the group that has all partitions, live."""
    worker = workbench.process(AT_LEAST_ONCE, group)
    await asyncio.to_thread(worker.start)
    try:
        yield worker
    finally:
        await asyncio.to_thread(worker.stop)


def _recovered(worker: Server, source: str) -> float:
    """Return the seconds from the worker's assignment until its last partition was live."""
    live = _LIVE.findall(worker.log.read_text(encoding="utf-8"))
    if [found for _, _, _, found in live] != [source] * PARTITIONS:
        raise FatalError(f"not all partitions were restored from {source}: {worker.log_end()}")
    return max(float(seconds) for _, _, seconds, _ in live)
