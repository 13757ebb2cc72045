"""Benchmark of a whole worker on a real Kafka, with each kind of delivery, beside a pass-through over the same input.

All are child processes with one event loop and read the same preloaded topic from its beginning in a fresh consumer
group. They take turns, and what is compared are ratios of runs of the same turn. The floor of any worker in Python runs
with them, and a peer where it is asked for.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec

from tokenmill.bench.clock import Progress, median_ratio
from tokenmill.bench.conditions import commit_of
from tokenmill.bench.kafka import created, preload
from tokenmill.bench.latency import Latency, latency_of
from tokenmill.bench.load import PARTITIONS, Load, Shape
from tokenmill.bench.throughput import Run, run_side
from tokenmill.bench.workbench import (
    AT_LEAST_ONCE,
    BEFORE,
    EXACTLY_ONCE,
    PASS_THROUGH,
    RE_ENCODING,
    SIDES,
    STREAMS,
    Ground,
    Workbench,
    ground,
    new_group,
)

HALF_LOAD = 0.5
"""Share of the slowest side's rate at which the latency is measured."""


class Pipeline(msgspec.Struct, frozen=True):
    """The whole benchmark."""

    load: Load
    shape: Shape
    partitions: int
    runs: dict[str, list[Run]]
    latencies: dict[str, list[Latency]]
    """Runs at half of the slowest side's rate; empty if not requested."""
    before: str = ""
    """The commit of the workers called `before`."""

    def rate(self, side: str) -> float:
        """Return the median of a side's rates, in records per second."""
        return median(run.records_per_s for run in self.runs[side])

    def processor_us(self, side: str) -> float | None:
        """Return the median of a side's processor times for one record, in microseconds."""
        known = [run.processor_us for run in self.runs[side] if run.processor_us is not None]
        return median(known) if known else None

    def share(self, side: str, of: str) -> float:
        """Return this side's rate over the other's: the median of the ratios of all rounds."""
        return median_ratio(*([run.records_per_s for run in self.runs[each]] for each in (side, of)))

    def effort(self, side: str, of: str) -> float | None:
        """Return this side's processor time for a record over the other's; None if it is unknown."""
        one, other = self.processor_us(side), self.processor_us(of)
        return one / other if one is not None and other is not None else None

    @property
    def worker_share(self) -> float:
        """Return at-least-once's share of the pass-through's rate."""
        return self.share(AT_LEAST_ONCE, PASS_THROUGH)

    @property
    def exactly_once_share(self) -> float:
        """Return exactly-once's share of at-least-once's rate."""
        return self.share(EXACTLY_ONCE, AT_LEAST_ONCE)

    def p99_ms(self, side: str) -> float:
        """Return the median of a side's 99th percentiles."""
        return median(run.p99_ms for run in self.latencies[side])

    @property
    def latency_ratio(self) -> float | None:
        """Return at-least-once's 99th percentile over the pass-through's; None if it was not measured."""
        if not self.latencies:
            return None
        return median_ratio(*([run.p99_ms for run in self.latencies[each]] for each in (AT_LEAST_ONCE, PASS_THROUGH)))

    @property
    def added_ms(self) -> float | None:
        """Return what exactly-once adds to the 99th percentile of at-least-once; None if it was not measured."""
        return self.p99_ms(EXACTLY_ONCE) - self.p99_ms(AT_LEAST_ONCE) if self.latencies else None


def sides_of(*, streams: bool = False, before: Path | None = None) -> tuple[str, ...]:
    """Return all sides whose throughput is measured, in order."""
    return (*SIDES, RE_ENCODING, *(BEFORE if before else ()), *(STREAMS if streams else ()))


def run_pipeline(
    *,
    bootstrap: str | None,
    records: int,
    rounds: int,
    latency: bool,
    progress: Progress,
    streams: bool = False,
    before: Path | None = None,
) -> Pipeline:
    """Measure on the Kafka at `bootstrap`, or on one started for it, also with workers of the checkout `before`.

    Raises `FatalError` if a run gets stuck.
    """
    sides = sides_of(streams=streams, before=before)
    with ground(bootstrap, progress) as servers:
        load = Load(records)
        runs = asyncio.run(_throughput(servers, servers.workbench(before=before), load, rounds, sides, progress))
        slowest = min(median(run.records_per_s for run in runs[side]) for side in SIDES)
        latencies = asyncio.run(_latencies(servers, slowest * HALF_LOAD, rounds, progress)) if latency else {}
    return Pipeline(load, servers.shape, PARTITIONS, runs, latencies, before=commit_of(before) if before else "")


async def _throughput(
    servers: Ground, workbench: Workbench, load: Load, rounds: int, sides: Sequence[str], progress: Progress
) -> dict[str, list[Run]]:
    async with created(workbench.bootstrap, workbench.topics) as admin:
        progress(f"putting {load.records:,} records on the topic")
        await preload(workbench.bootstrap, workbench.tokens, load)
        runs: dict[str, list[Run]] = {side: [] for side in sides}
        for number in range(rounds):
            for side in sides:
                runs[side].append(await run_side(workbench, side, load, admin, servers.broker, new_group()))
                progress(f"{side}, run {number + 1} of {rounds}: {runs[side][-1].records_per_s:,.0f} records/s")
        return runs


async def _latencies(servers: Ground, rate: float, rounds: int, progress: Progress) -> dict[str, list[Latency]]:
    latencies: dict[str, list[Latency]] = {side: [] for side in SIDES}
    for number in range(rounds):
        for side in SIDES:
            workbench = servers.workbench()  # each run on its own topics: a fresh group would first read what is there
            async with created(workbench.bootstrap, workbench.topics) as admin:
                latencies[side].append(await latency_of(workbench, side, rate, admin))
            progress(f"{side}, latency {number + 1} of {rounds}: p99 {latencies[side][-1].p99_ms:.0f} ms")
    return latencies
