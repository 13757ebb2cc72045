"""A hundred thousand records through transactions, while workers and the broker are bounced (P5).

The design is that of Kafka's own test of transactions: seeded input, a bounce only after a good part of it has come
through since the last one, a reader of what is committed that is there all the time, and nothing is compared before
every transaction is over.

Workers crash while a transaction of theirs is open with outputs in it, and do so again until a reader of everything saw
outputs that were aborted: a run in which none were would prove nothing of them.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from aiokafka.errors import KafkaError

from tests.support.reader import Place, Reader, place, reading
from tests.support.stage import LOOK_S, Chunk, Stage, by_partition, until
from tokenmill.servers import KafkaServer, RedisServer
from tokenmill.servers.worker import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

RECORDS = 100_000
SEED = 447

PARTITIONS = 4
WORKERS = 2

PROGRESS = RECORDS // 20
"""Records that are committed between two bounces, at least; as many again may go by until one finds its moment."""

LEAD = 5_000
"""Records behind those: still being sent and processed in the moment of the bounce."""

FURTHER = 5
"""Crashes until outputs were aborted, at most: there is input for all of them."""

BATCH = 500

CONVERSATIONS = 50
MESSAGE_CHUNKS = 40

SETTINGS = {"delivery": "exactly-once"}

BOUNCE_S = 100.0
"""For what was bounced to be back, and for a tenth of the records: many times what it takes."""


def seeded() -> Iterator[tuple[str, Chunk]]:
    """The input: messages of plain words in conversations side by side, the same in every run."""
    dice = random.Random(SEED)
    for number in range(RECORDS):
        step, conversation = divmod(number, CONVERSATIONS)
        message, seq = divmod(step, MESSAGE_CHUNKS)
        chunk: Chunk = {"message_id": f"m{message}", "seq": seq, "delta": f"word{dice.randrange(1_000)} "}
        if seq == MESSAGE_CHUNKS - 1:
            chunk["finish_reason"] = "stop"
        yield f"conversation-{conversation}", chunk


class Fleet:
    """Workers that a supervisor starts anew when they end, whatever they ended of."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._workers: list[WorkerProcess] = []
        self.started = 0

    async def supervise(self) -> None:
        """Until cancelled. A worker that does not start fails the test."""
        while True:
            ended = [worker for worker in self._workers if not worker.alive]
            missing = WORKERS - len(self._workers) + len(ended)
            fresh = await asyncio.gather(*(self._stage.start(**SETTINGS) for _ in range(missing)))
            self._workers = [worker for worker in self._workers if worker not in ended] + fresh
            self.started += missing
            await asyncio.sleep(LOOK_S)

    @property
    def at_work(self) -> list[WorkerProcess]:
        """The workers that were started, the longest ago first."""
        return [worker for worker in self._workers if worker.alive]


class Feeder:
    """Sends the seeded records, as far as it is allowed to."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._sent = 0
        self.allowed = 0

    async def run(self) -> None:
        """All of them."""
        records = seeded()
        while batch := list(islice(records, BATCH)):
            await until(lambda: self._sent < self.allowed, "more is allowed", BOUNCE_S)
            await self._stage.send_all(batch)
            self._sent += len(batch)

    def more(self) -> None:
        """A batch more is allowed if all that was is sent."""
        self.allowed += BATCH if self._sent >= self.allowed else 0


class Outputs:
    """The events, as one reader sees them who skips what was aborted, and one who does not."""

    def __init__(self, stage: Stage, committed: Reader, everything: Reader) -> None:
        self._stage = stage
        self.committed = committed
        self.everything = everything

    async def open(self) -> bool:
        """Whether a transaction is open that has outputs in it."""
        ends = await self._stage.ends_of(self._stage.topics.events)
        stable = await self._stage.ends_of(self._stage.topics.events, "read_committed")
        return any(stable[number] < end for number, end in ends.items())

    async def aborted(self) -> list[Place]:
        """What is known to be aborted: who skips it is already behind it."""
        positions = await self.committed.positions()
        skipped = set(self.everything.seen) - set(self.committed.seen)
        return [place for place in skipped if place.offset < positions[place.partition]]

    async def all_seen(self) -> bool:
        """Whether both readers stand behind the last marker."""
        ends = await self._stage.ends_of(self._stage.topics.events)
        return await self.committed.positions() == await self.everything.positions() == ends


async def _committed(stage: Stage, floor: int) -> int:
    """Input records that are committed, once they are `floor`; commits never move back."""

    async def known() -> int | None:
        try:
            done = sum(offset for offset, _ in (await stage.committed()).values())
        except KafkaError:
            return None
        return done if done >= floor else None  # a broker that was just started does not know its groups yet

    return int(await until(known, f"the broker knows of {floor} committed records", BOUNCE_S))


class Bounces:
    """One after the other: a worker crashes, one leaves, the broker crashes, all workers crash at once."""

    def __init__(self, stage: Stage, fleet: Fleet, feeder: Feeder, outputs: Outputs, broker: KafkaServer) -> None:
        self._stage = stage
        self._fleet = fleet
        self._feeder = feeder
        self._outputs = outputs
        self._broker = broker
        self._done = 0

    async def run(self) -> None:
        """All of them, then all workers crash again until outputs were aborted."""
        for bounce in (self._crash_one, self._leave, self._crash_broker, self._crash_all):
            await self._next(bounce)
        for _ in range(FURTHER):
            if await self._outputs.aborted():
                break
            await self._next(self._crash_all)
        self._feeder.allowed = RECORDS

    async def _next(self, bounce: Callable[[], Awaitable[None]]) -> None:
        await until(lambda: len(self._fleet.at_work) == WORKERS, "all workers are there", BOUNCE_S)
        self._feeder.allowed = self._done + PROGRESS + LEAD
        await _committed(self._stage, self._done + PROGRESS)
        await bounce()
        self._done = await _committed(self._stage, self._done)

    async def _crash_one(self) -> None:
        await self._crash(1)

    async def _leave(self) -> None:
        await asyncio.to_thread(self._fleet.at_work[0].stop)

    async def _crash_broker(self) -> None:
        await asyncio.to_thread(self._broker.kill)
        await asyncio.to_thread(self._broker.start)

    async def _crash_all(self) -> None:
        await self._crash(WORKERS)

    async def _crash(self, count: int) -> None:
        """Workers are stopped when outputs come, and go on if these were the last of their transaction."""
        workers: list[WorkerProcess] = []

        async def in_the_middle() -> bool:
            seen = len(self._outputs.everything.seen)

            def come() -> bool:
                self._feeder.more()  # at each look: what is being sent now may have come out already
                return len(self._outputs.everything.seen) > seen

            await until(come, "outputs come", BOUNCE_S)
            workers[:] = self._fleet.at_work
            for worker in workers:
                worker.freeze()
            if await self._outputs.open():
                return True
            for worker in workers:
                worker.thaw()
            return False

        await until(in_the_middle, "workers stand in the middle of a transaction", BOUNCE_S)
        for worker in workers[:count]:
            worker.kill()
        for worker in workers[count:]:
            worker.thaw()


async def test_a_hundred_thousand_records_survive_every_bounce(
    tmp_path: Path, start_kafka: Callable[[], KafkaServer], redis_server: RedisServer, unique: str
) -> None:
    """Events are the oracle's: the same ones, in the same order on each partition, none twice, none missing.

    And whoever read while it happened saw exactly what is there in the end, although transactions were aborted.
    """
    broker = start_kafka()
    async with (
        Stage(tmp_path, broker.bootstrap, unique, redis_server.url, PARTITIONS) as stage,
        reading(stage) as committed,
        reading(stage, "read_uncommitted") as everything,
    ):
        fleet, feeder, outputs = Fleet(stage), Feeder(stage), Outputs(stage, committed, everything)
        supervising = asyncio.create_task(fleet.supervise())
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(feeder.run())
                group.create_task(Bounces(stage, fleet, feeder, outputs, broker).run())
            await until(stage.at_rest, "all is committed and every message ended", BOUNCE_S)
            await until(outputs.all_seen, "the readers stand behind the last marker", BOUNCE_S)
        finally:
            supervising.cancel()

        events = await stage.read(stage.topics.events)
        assert sorted(committed.seen) == sorted(map(place, events))
        expected, found = await stage.expected(), by_partition(events)
        assert sum((await stage.ends()).values()) == RECORDS
        assert found.keys() == expected.keys() == {(stage.topics.events, number) for number in range(PARTITIONS)}
        for where, contents in found.items():
            counts, wanted = Counter(contents), Counter(expected[where])
            assert list((counts - wanted).elements()) == [], f"{where}: twice, or made up"
            assert list((wanted - counts).elements()) == [], f"{where}: missing"
            assert contents == expected[where], f"{where}: out of order"
        assert await outputs.aborted() != []
        assert fleet.started >= WORKERS + 1 + 1 + WORKERS
