"""Benchmark of several workers on one Kafka, up to what the machine carries, and of a model that predicts the results.

The model is one line: workers work side by side, each on one core, until all cores are used, by the broker and Redis
too. What a record costs each of them is taken from the first cell, further tokens in it cost workers what
`tokenmill capacity` takes, and the other cells show how far that carries. Then a worker leaves and comes back while
records keep coming: what one of them waits at most is what a rebalance costs.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from statistics import median

import msgspec
from aiokafka import TopicPartition

from tokenmill.bench.clock import Progress
from tokenmill.bench.kafka import Watch, created, preload, written
from tokenmill.bench.latency import all_seen, feed, feeding, following
from tokenmill.bench.load import Load
from tokenmill.bench.processes import processor_seconds
from tokenmill.bench.throughput import COMPLETE, timed
from tokenmill.bench.workbench import AT_LEAST_ONCE, Ground, Workbench, ground, new_group
from tokenmill.capacity import TOKEN_US
from tokenmill.errors import FatalError
from tokenmill.servers.process import Server
from tokenmill.servers.worker import WorkerProcess

CELL_S = 120.0
"""Seconds for a cell: it takes some, and many times that on a busy machine."""

LOOK_S = 0.1

MOVES_PARTITIONS, MOVES_WORKERS = 32, 2
MOVES_RATE = 1_000.0
STEADY_S, MOVES_S = 4.0, 12.0
"""Seconds before a worker leaves or joins, and from then on: a move takes some seconds."""


class Cell(msgspec.Struct, frozen=True):
    """What is measured."""

    partitions: int
    workers: int
    tokens: int = 1
    """Tokens in a record."""


CELLS = (Cell(4, 1), Cell(4, 2), Cell(32, 1), Cell(32, 2), Cell(32, 3), Cell(128, 2), Cell(32, 2, tokens=16))


class Cost(msgspec.Struct, frozen=True):
    """Processor time of one record, in microseconds."""

    workers: float
    """Processor time of all workers together."""
    broker: float
    redis: float

    @property
    def all(self) -> float:
        """Return the processor time on the whole machine."""
        return self.workers + self.broker + self.redis


class Run(msgspec.Struct, frozen=True):
    """One run of a cell."""

    records_per_s: float
    cost: Cost


class Scale(msgspec.Struct, frozen=True):
    """The whole benchmark."""

    cores: int
    runs: dict[str, list[Run]]
    """Runs by cell, named by `name_of`."""
    waits: dict[str, float]
    """The longest wait of a record in seconds, by what a worker does."""
    cells: Sequence[Cell] = CELLS

    def rate(self, cell: Cell) -> float:
        """Return the median, in records per second."""
        return median(run.records_per_s for run in self.runs[name_of(cell)])

    def cost(self, cell: Cell) -> Cost:
        """Return the medians."""
        costs = [run.cost for run in self.runs[name_of(cell)]]
        return Cost(*(median(getattr(cost, part) for cost in costs) for part in Cost.__struct_fields__))

    def foretold(self, cell: Cell) -> float:
        """Return the records per second that the model predicts from the costs of the first cell."""
        return foretell(self.cost(self.cells[0]), cell.workers, self.cores, cell.tokens)


def foretell(cost: Cost, workers: int, cores: int, tokens: int = 1) -> float:
    """Return the records per second of `workers`, each with one core, that share the machine's cores with the
    broker. `cost` is that of a record with one token.
    """
    further = TOKEN_US * (tokens - 1)
    return 1e6 * min(workers / (cost.workers + further), cores / (cost.all + further))


def name_of(cell: Cell) -> str:
    """Return a cell's name in tables and reports."""
    tokens = f", {cell.tokens} tokens in a record" if cell.tokens > 1 else ""
    return f"{cell.partitions} partitions, {cell.workers} workers{tokens}".replace(" 1 workers", " 1 worker")


def run_scale(*, cells: Sequence[Cell] = CELLS, records: int, rounds: int, progress: Progress) -> Scale:
    """Measure on a Kafka started for it. Raises `FatalError` if a cell does not finish."""
    with ground(None, progress) as servers:
        runs, waits = asyncio.run(_measure(servers, cells, records, rounds, progress))
    return Scale(os.cpu_count() or 1, runs, waits, cells)


async def _measure(
    servers: Ground, cells: Sequence[Cell], records: int, rounds: int, progress: Progress
) -> tuple[dict[str, list[Run]], dict[str, float]]:
    runs: dict[str, list[Run]] = {name_of(cell): [] for cell in cells}
    for number in range(rounds):
        for cell in cells:
            run = await _cell(servers, cell, records)
            runs[name_of(cell)].append(run)
            progress(f"{name_of(cell)}, run {number + 1} of {rounds}: {run.records_per_s:,.0f} records/s")
    waits = await _moves(servers)
    progress("a worker has left and come back")
    return runs, waits


@asynccontextmanager
async def _workers(workbench: Workbench, group: str, count: int) -> AsyncIterator[list[WorkerProcess]]:
    """Yield `count` workers that share the partitions."""
    workers = [workbench.process(AT_LEAST_ONCE, group, number) for number in range(count)]
    ours = [worker for worker in workers if isinstance(worker, WorkerProcess)]
    try:
        await asyncio.gather(*(asyncio.to_thread(worker.start) for worker in ours))
        await _shared(ours, workbench.partitions)
        yield ours
    finally:
        for worker in ours:
            worker.thaw()
        await asyncio.gather(*(asyncio.to_thread(worker.stop) for worker in ours))


async def _shared(workers: Sequence[WorkerProcess], partitions: int) -> None:
    """Wait until each worker has its share."""
    while True:
        owned = [await asyncio.to_thread(_owned, worker) for worker in workers if worker.alive]
        if sum(owned) == partitions and min(owned) >= partitions // len(owned):
            return
        await asyncio.sleep(LOOK_S)


def _owned(worker: WorkerProcess) -> int:
    name = "tokenmill_assigned_partitions "
    lines = (line for line in worker.metrics().splitlines() if line.startswith(name))
    return int(float(next(lines, f"{name}0").removeprefix(name)))


async def _cell(servers: Ground, cell: Cell, records: int) -> Run:
    workbench, group = servers.workbench(cell.partitions), new_group()
    load = Load(records, cell.partitions, cell.tokens)
    try:
        async with (
            asyncio.timeout(CELL_S),
            created(workbench.bootstrap, workbench.topics, cell.partitions) as admin,
            _workers(workbench, group, cell.workers) as workers,
        ):
            for worker in workers:
                worker.freeze()  # for less than its session: all begin at the same time, on all of the load
            await preload(workbench.bootstrap, workbench.tokens, load)
            for worker in workers:
                worker.thaw()
            run = await _timed(servers, workbench.watch(admin, group, workers[0]), load, workers)
            await _complete(workbench, load)
    except TimeoutError as late:
        raise FatalError(f"{name_of(cell)}: not through within {CELL_S:.0f} s") from late
    return run


async def _timed(servers: Ground, watch: Watch, load: Load, workers: Sequence[WorkerProcess]) -> Run:
    def used() -> Sequence[float]:
        return sum(map(_seconds, workers)), _seconds(servers.broker), _seconds(servers.redis)

    rate, used_per_s = await timed(watch.reached, used, load.records)
    return Run(rate, Cost(*((each or 0.0) / rate * 1e6 for each in used_per_s)))


def _seconds(process: Server | None) -> float:
    return (processor_seconds(process.pid) if process is not None else None) or 0.0


async def _complete(workbench: Workbench, load: Load) -> None:
    places = [
        TopicPartition(topic, number)
        for topic in workbench.outputs(AT_LEAST_ONCE)
        for number in range(workbench.partitions)
    ]
    wrote = await written(workbench.bootstrap, dict.fromkeys(places, 0))
    if load.tokens == 1 and wrote < load.records * workbench.outputs_per_record(AT_LEAST_ONCE) * COMPLETE:
        raise FatalError(f"only {wrote:,} records were written; the rate means nothing")


async def _moves(servers: Ground) -> dict[str, float]:
    """Return a record's longest wait while a worker leaves, and while it comes back."""
    workbench, group = servers.workbench(MOVES_PARTITIONS), new_group()
    events = [TopicPartition(workbench.outputs(AT_LEAST_ONCE)[0], number) for number in range(MOVES_PARTITIONS)]
    records = iter(Load(1 << 40, MOVES_PARTITIONS))
    waits, sent = {}, 0
    async with (
        created(workbench.bootstrap, workbench.topics, MOVES_PARTITIONS) as admin,
        _workers(workbench, group, MOVES_WORKERS) as workers,
        following(workbench.bootstrap, events) as (consumer, seen),
        feeding(workbench) as producer,
    ):
        for what, move in (("leaves", workers[-1].stop), ("comes back", workers[-1].start)):
            steady, moved = round(MOVES_RATE * STEADY_S), round(MOVES_RATE * MOVES_S)
            await feed(producer, workbench, records, steady, MOVES_RATE)
            since_ms = time.time() * 1_000
            moving = asyncio.create_task(asyncio.to_thread(move))
            await feed(producer, workbench, records, moved, MOVES_RATE)
            await moving
            await _shared(workers, MOVES_PARTITIONS)
            sent += steady + moved
            watch = workbench.watch(admin, group, workers[0])
            await all_seen(watch, sent, consumer, f"what was sent when one {what} is not there")
            waits[what] = max(came - at for came, at in seen if at >= since_ms) / 1_000
    return waits
