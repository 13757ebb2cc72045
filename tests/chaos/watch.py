"""What is looked at while faults happen: commits (I3), snapshots (I6), and what readers see."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, ConsumerRecord
from aiokafka.admin import AIOKafkaAdminClient

from tests.support.kept import UNREACHABLE
from tokenmill.errors import Unavailable
from tokenmill.store import Head, SnapshotStore

SAMPLE_S = 0.1

HELD_MS = 100
"""So long the broker keeps what there is for a reader, for more to come: ten answers a second, and not one a commit."""

LATE_S = 3.0
"""A commit that was acknowledged may be seen a moment later: the broker answers before its coordinator has it."""


class Commits:
    """What the group has committed, asked for ten times a second."""

    def __init__(self, bootstrap: str, group: str) -> None:
        self._bootstrap = bootstrap
        self._group = group
        self._admin: AIOKafkaAdminClient | None = None
        self.offsets: dict[int, int] = {}
        self.samples = 0
        self.problems: list[str] = []

    async def sample(self) -> bool:
        """Ask once; whether there was an answer. A broker that does not give one is asked again the next time."""
        try:
            if self._admin is None:
                self._admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap, request_timeout_ms=5_000)
                await self._admin.start()
            found = await self._admin.list_consumer_group_offsets(self._group)
        except UNREACHABLE:
            await self.close()
            return False
        if found:
            self.see({tp.partition: committed.offset for tp, committed in found.items()})
        return bool(found)

    def see(self, offsets: Mapping[int, int]) -> None:
        """What the broker answered, by partition."""
        self.samples += 1
        for number, offset in offsets.items():
            before = self.offsets.get(number, 0)
            if offset < before:
                self.problems.append(f"I3: partition {number}: committed {offset} after {before}")
            self.offsets[number] = max(offset, before)

    async def close(self) -> None:
        """Let go of the client."""
        if self._admin is not None:
            with suppress(*UNREACHABLE):
                await self._admin.close()
        self._admin = None


class Heads:
    """The heads of the snapshots: epoch and offset never decrease, and the offset is committed."""

    def __init__(
        self,
        store: SnapshotStore,
        topic: str,
        partitions: int,
        commits: Commits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._topic = topic
        self._partitions = partitions
        self._commits = commits
        self._clock = clock
        self._last: dict[int, Head] = {}
        self._ahead: dict[int, tuple[Head, float]] = {}
        self._resting = 0
        self.samples = 0
        self.problems: list[str] = []

    async def sample(self) -> None:
        """Look at all of them, before commits are asked for."""
        for number in range(self._partitions):
            if self._resting:
                return
            try:
                head = await self._store.head(self._topic, number)
            except Unavailable:
                return
            if head is not None and not self._resting:
                self._see(number, head)

    def compare(self, asked: float) -> None:
        """After a sample of commits, asked for then: what a head says was committed must be, within a moment."""
        for number, (head, since) in list(self._ahead.items()):
            if self._commits.offsets.get(number, 0) >= head.offset:
                del self._ahead[number]
            elif asked - since > LATE_S:
                self.problems.append(f"I6: partition {number}: snapshot at {head.offset}, which is not committed")
                del self._ahead[number]

    def unanswered(self) -> None:
        """Nobody says what is committed: a broker that comes back has a moment again, for what it has yet to write."""
        self._ahead = {number: (head, self._clock()) for number, (head, _) in self._ahead.items()}

    def rest(self) -> None:
        """From now on Redis is being wiped or rolled back: that a head is gone, or an old one, says nothing."""
        self._resting += 1
        self._last.clear()

    def go_on(self) -> None:
        """Redis is left alone again."""
        self._resting -= 1

    def _see(self, number: int, head: Head) -> None:
        self.samples += 1
        last = self._last.get(number)
        if last is not None and (head.epoch < last.epoch or head.offset < last.offset):
            self.problems.append(f"I6: partition {number}: head {head} after {last}")
        self._last[number] = head
        if self._commits.offsets.get(number, 0) < head.offset:
            self._ahead.setdefault(number, (head, self._clock()))


async def keep_sampling(commits: Commits, heads: Heads, enough: asyncio.Event) -> None:
    """Both, until it is enough; not until it is cancelled, which the client of the broker loses now and then."""
    while not enough.is_set():
        await heads.sample()
        asked = time.monotonic()
        if await commits.sample():
            heads.compare(asked)
        else:
            heads.unanswered()
        with suppress(TimeoutError):
            async with asyncio.timeout(SAMPLE_S):
                await enough.wait()


class Seen(NamedTuple):
    """A record, when it was seen, and when its input was written; seconds since the epoch."""

    partition: int
    offset: int
    value: bytes | None
    at: float
    written: float


class Reader:
    """Reads a topic while it is written, only what is committed."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            fetch_max_wait_ms=HELD_MS,
            fetch_min_bytes=1 << 20,
        )
        self.topic = topic
        self.seen: list[Seen] = []

    def count(self, number: int) -> int:
        """Records of a partition so far."""
        return sum(record.partition == number for record in self.seen)

    def arrivals(self, number: int) -> dict[int, float]:
        """When each record of a partition was seen, by offset."""
        return {record.offset: record.at for record in self.seen if record.partition == number}

    async def run(self) -> None:
        """Read, for ever."""
        await self._consumer.start()
        try:
            while True:
                for records in (await self._consumer.getmany(timeout_ms=200)).values():
                    self.seen += [_seen(record) for record in records]
        finally:
            await self._consumer.stop()


def _seen(record: ConsumerRecord) -> Seen:
    return Seen(record.partition, record.offset, record.value, time.time(), record.timestamp / 1000)
