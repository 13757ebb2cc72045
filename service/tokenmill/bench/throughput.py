"""How many records per second a side processes.

A run is timed by its group's committed offsets, from the first tenth of the records on, so that neither starting and
joining count, nor work that is not yet acknowledged and committed.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from aiokafka.admin import AIOKafkaAdminClient

from tokenmill.bench.kafka import ends, written
from tokenmill.bench.load import Load
from tokenmill.bench.processes import processor_seconds, queued_seconds
from tokenmill.bench.workbench import Workbench
from tokenmill.errors import FatalError
from tokenmill.servers.process import Server

WARM_UP = 0.1
"""Share of the records before the clock starts."""

LATE = 0.8
"""Share of the records above which the clock would start too late for the rate to mean anything."""

COMPLETE = 0.95
"""Share of the outputs of whole messages; the last messages of the load are cut. A side that writes less is
broken, and its rate means nothing."""

RUN_DEADLINE_S = 300.0


class Run(msgspec.Struct, frozen=True):
    """One run of one side."""

    records_per_s: float
    processor: float | None
    """Processor time of the process in seconds per second: at 1.0 its one event loop is the limit."""
    broker_processor: float | None
    queued: float | None = None
    """Share of the time in which the process could have worked, but another one had the processor."""

    @property
    def processor_us(self) -> float | None:
        """Return the processor time per record: it says more than the rate when other processes use the machine,
        too.
        """
        return None if self.processor is None else self.processor / self.records_per_s * 1e6


async def run_side(
    workbench: Workbench, side: str, load: Load, admin: AIOKafkaAdminClient, broker: Server | None, group: str
) -> Run:
    """Run one side as a fresh group over the load on its topic. Raises `FatalError` if it does not finish."""
    process = workbench.process(side, group)
    watch = workbench.watch(admin, group, process)

    def used() -> Sequence[float | None]:
        broker_s = processor_seconds(broker.pid) if broker else None
        return processor_seconds(process.pid), broker_s, queued_seconds(process.pid)

    before = await ends(workbench.bootstrap, workbench.outputs(side))
    try:
        await asyncio.to_thread(process.start)  # in a thread: this loop has connections to keep alive
        async with asyncio.timeout(RUN_DEADLINE_S):
            rate, (process_s, broker_s, queued) = await timed(watch.reached, used, load.records)
    except TimeoutError as late:
        raise FatalError(f"the {side} did not get through the load within {RUN_DEADLINE_S:.0f} s") from late
    finally:
        await asyncio.to_thread(process.stop)
    wrote = await written(workbench.bootstrap, before)
    if wrote < load.records * workbench.outputs_per_record(side) * COMPLETE:
        raise FatalError(f"the {side} wrote only {wrote:,} records; its rate means nothing")
    return Run(rate, process_s, broker_s, queued)


async def timed(
    reach: Callable[[int], Awaitable[int]], used: Callable[[], Sequence[float | None]], records: int
) -> tuple[float, list[float | None]]:
    """Wait for the first tenth of the records, and time the rest.

    `reach` waits until a number of records is committed and returns how many are; `used` are counters, None for an
    unknown one. Return the records per second, and each counter's growth per second. Raises `FatalError` for a load
    that is too small.
    """
    first = await reach(round(records * WARM_UP))
    if first > records * LATE:
        raise FatalError(f"{first:,} of {records:,} records were done at the first look; measure with more")
    started, before = time.monotonic(), used()
    last = await reach(records)
    took, after = time.monotonic() - started, used()
    grown = [
        (later - sooner) / took if sooner is not None and later is not None else None
        for sooner, later in zip(before, after, strict=True)
    ]
    return (last - first) / took, grown
