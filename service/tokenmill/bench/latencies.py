"""Benchmark of the time that a record takes through a worker, at low and high rates, compared with a pass-through.

Measured as in `pipeline`, at rates that do not depend on the sides' speed, and on more partitions.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec

from tokenmill.bench.clock import Progress
from tokenmill.bench.conditions import commit_of
from tokenmill.bench.kafka import created
from tokenmill.bench.latency import Latency, latency_of
from tokenmill.bench.workbench import BEFORE, IN_TRANSACTIONS, RE_ENCODING, SIDES, Ground, ground

PARTITIONS = 8
"""Twice those of the pipeline, as transactions are per partition."""

RATES = (50, 1_000, 5_000, 15_000)
"""Records per second: one slow conversation, some, hundreds, and the rate that a worker is sized for."""


class Latencies(msgspec.Struct, frozen=True):
    """The whole benchmark."""

    partitions: int
    runs: dict[str, dict[int, list[Latency]]]
    """Runs of each side, by records per second."""
    before: str = ""
    """The commit of the workers called `before`."""

    def p50_ms(self, side: str, rate: int) -> float:
        """Return the median of the rounds' medians."""
        return median(run.p50_ms for run in self.runs[side][rate])

    def p99_ms(self, side: str, rate: int) -> float:
        """Return the median of the rounds' 99th percentiles."""
        return median(run.p99_ms for run in self.runs[side][rate])


def run_latencies(
    *,
    bootstrap: str | None,
    rates: Sequence[int] = RATES,
    rounds: int,
    progress: Progress,
    before: Path | None = None,
) -> Latencies:
    """Measure on the Kafka at `bootstrap`, or on one started for it, also with workers of the checkout `before`.

    Raises `FatalError` if a side falls behind for good.
    """
    with ground(bootstrap, progress) as servers:
        runs = asyncio.run(_measure(servers, rates, rounds, progress, before))
    return Latencies(PARTITIONS, runs, before=commit_of(before) if before else "")


def latency_sides(before: Path | None) -> tuple[str, ...]:
    """Return all sides that are measured, in order."""
    return (*SIDES, RE_ENCODING, IN_TRANSACTIONS, *(BEFORE if before else ()))


async def _measure(
    servers: Ground, rates: Sequence[int], rounds: int, progress: Progress, before: Path | None
) -> dict[str, dict[int, list[Latency]]]:
    sides = latency_sides(before)
    runs: dict[str, dict[int, list[Latency]]] = {side: {rate: [] for rate in rates} for side in sides}
    for number in range(rounds):
        for rate in rates:
            for side in sides:
                # Each run has its own topics: a fresh group would first read what is there.
                workbench = servers.workbench(PARTITIONS, before)
                async with created(workbench.bootstrap, workbench.topics, workbench.partitions) as admin:
                    run = await latency_of(workbench, side, float(rate), admin)
                runs[side][rate].append(run)
                told = f"p50 {run.p50_ms:.0f} ms, p99 {run.p99_ms:.0f} ms"
                progress(f"{side} at {rate:,}/s, run {number + 1} of {rounds}: {told}")
    return runs
