"""A hundred thousand records through transactions, while workers and the broker are bounced (P5).

The design is that of Kafka's own test of transactions: seeded input, a bounce only after a fifth of it has come through
since the last one, a reader of what is committed that is there all the time, and nothing is compared before every
transaction is over.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pytest
from aiokafka.errors import KafkaError

from tests.support.reader import Reader, place, reading
from tests.support.stage import LOOK_S, Chunk, Stage, by_partition, until
from tests.support.topics import read_topic
from tokenmill.servers import KafkaServer, RedisServer
from tokenmill.servers.worker import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

RECORDS = 100_000
SEED = 447

PARTITIONS = 4
WORKERS = 2

PROGRESS = RECORDS // 5
"""Records that are committed between two bounces, at least."""

LEAD = 5_000
"""Records behind those: still being sent and processed in the moment of the bounce."""

BATCH = 500

CONVERSATIONS = 50
MESSAGE_CHUNKS = 40

SETTINGS = {"delivery": "exactly-once"}

BOUNCE_S = 100.0
"""For what was bounced to be back, and for a fifth of the records: many times what it takes."""


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
        self.allowed = 0

    async def run(self) -> None:
        """All of them."""
        records, sent = seeded(), 0
        while batch := list(islice(records, BATCH)):
            await until(lambda: sent < self.allowed, "more is allowed", BOUNCE_S)  # noqa: B023 -- awaited at once
            await self._stage.send_all(batch)
            sent += len(batch)


async def _committed(stage: Stage, floor: int) -> int:
    """Input records that are committed, once they are `floor`; commits never move back."""

    async def known() -> int | None:
        try:
            done = sum(offset for offset, _ in (await stage.committed()).values())
        except KafkaError:
            return None
        return done if done >= floor else None  # a broker that was just started does not know its groups yet

    return int(await until(known, f"the broker knows of {floor} committed records", BOUNCE_S))


async def _bounce(stage: Stage, fleet: Fleet, feeder: Feeder, broker: KafkaServer) -> None:
    """One after the other: a worker crashes, one leaves, the broker crashes, all workers crash at once."""

    async def crash_one() -> None:
        fleet.at_work[0].kill()

    async def leave() -> None:
        await asyncio.to_thread(fleet.at_work[0].stop)

    async def crash_broker() -> None:
        await asyncio.to_thread(broker.kill)
        await asyncio.to_thread(broker.start)

    async def crash_all() -> None:
        for worker in fleet.at_work:
            worker.kill()

    bounces: Sequence[Callable[[], Awaitable[None]]] = (crash_one, leave, crash_broker, crash_all)
    done = 0
    for bounce in bounces:
        await until(lambda: len(fleet.at_work) == WORKERS, "all workers are there", BOUNCE_S)
        feeder.allowed = done + PROGRESS + LEAD
        await _committed(stage, done + PROGRESS)
        await bounce()
        done = await _committed(stage, done)
    feeder.allowed = RECORDS


async def _has_seen_all(stage: Stage, reader: Reader) -> bool:
    return await reader.positions() == await stage.ends_of(stage.topics.events)


async def test_a_hundred_thousand_records_survive_every_bounce(
    tmp_path: Path, start_kafka: Callable[[], KafkaServer], redis_server: RedisServer, unique: str
) -> None:
    """Events are the oracle's: the same ones, in the same order on each partition, none twice, none missing.

    And whoever read while it happened saw exactly what is there in the end, although transactions were aborted.
    """
    broker = start_kafka()
    async with (
        Stage(tmp_path, broker.bootstrap, unique, redis_server.url, PARTITIONS) as stage,
        reading(stage) as reader,
    ):
        fleet, feeder = Fleet(stage), Feeder(stage)
        supervising = asyncio.create_task(fleet.supervise())
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(feeder.run())
                group.create_task(_bounce(stage, fleet, feeder, broker))
            await until(stage.at_rest, "all is committed and every message ended", BOUNCE_S)
            await until(lambda: _has_seen_all(stage, reader), "the reader stands behind the last marker", BOUNCE_S)
        finally:
            supervising.cancel()

        events = await stage.read(stage.topics.events)
        assert sorted(reader.seen) == sorted(map(place, events))
        expected, found = await stage.expected(), by_partition(events)
        assert sum((await stage.ends()).values()) == RECORDS
        assert found.keys() == expected.keys() == {(stage.topics.events, number) for number in range(PARTITIONS)}
        for where, contents in found.items():
            counts, wanted = Counter(contents), Counter(expected[where])
            assert list((counts - wanted).elements()) == [], f"{where}: twice, or made up"
            assert list((wanted - counts).elements()) == [], f"{where}: missing"
            assert contents == expected[where], f"{where}: out of order"
        assert len(await read_topic(stage.bootstrap, stage.topics.events, "read_uncommitted")) > len(events)
        assert fleet.started >= WORKERS + 1 + 1 + WORKERS
