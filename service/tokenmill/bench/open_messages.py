"""The memory of open messages in one process: as many as requested, held as in a worker.

The messages are those of the recovery benchmark: opened with the same tools, some text, then idle. The partitions are
marked, watched for idle messages and captured for snapshots, as in a worker.
"""

import gc
import os
import resource
import sys
import time
from collections.abc import Iterator

import msgspec

from tokenmill.bench.clock import Progress
from tokenmill.bench.load import PARTITIONS
from tokenmill.bench.processes import resident_bytes
from tokenmill.bench.recovery import OpenMessages
from tokenmill.errors import FatalError
from tokenmill.parser import Options
from tokenmill.partition import Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

STEPS = 10
"""Readings of the memory while messages are opened."""

SLICE = 1_000
"""Records between two marks."""

TIMEOUT_MS = 900_000
STARTED_MS = 1_760_000_000_000


class Held(msgspec.Struct, frozen=True):
    """A number of open messages, and the process's growth since before the first of them."""

    messages: int
    bytes_per_message: float


class Crowd(msgspec.Struct, frozen=True):
    """The whole benchmark."""

    partitions: int
    steps: list[Held]
    peak_bytes: int
    """Bytes of the whole process, with a snapshot of each partition captured in turn."""
    seconds: float

    @property
    def last(self) -> Held:
        """Return the state with all messages open."""
        return self.steps[-1]


def run_memory(*, messages: int, progress: Progress) -> Crowd:
    """Open the messages in this process. Raises `FatalError` if the system does not report a process's memory."""
    started = time.monotonic()
    partitions = [
        Partition(PartitionSettings(defaults=Options(format="hermes")), "tokens", n) for n in range(PARTITIONS)
    ]
    records = _records(OpenMessages.of(messages))
    step = -(-messages // STEPS)
    before, steps = _resident(), list[Held]()
    while (opened := sum(partition.open_messages for partition in partitions)) < messages:
        goal = min(opened + step, messages)
        _open(partitions, records, OpenMessages.of(goal - opened).records)
        steps.append(Held(goal, (_resident() - before) / goal))
        progress(f"{goal:,} open messages: {steps[-1].bytes_per_message:,.0f} bytes each")
    for partition in partitions:
        partition.changes(full=True)
    return Crowd(PARTITIONS, steps, _peak(), time.monotonic() - started)


def _open(partitions: list[Partition], records: Iterator[tuple[int, InputRecord]], count: int) -> None:
    """Feed the next `count` records, each to its partition."""
    out: list[Output] = []
    for number, (place, record) in zip(range(count), records, strict=False):
        partitions[place].process((record,), out)
        if number % SLICE == 0:
            out.clear()
            _look_after(partitions)
    _look_after(partitions)


def _look_after(partitions: list[Partition]) -> None:
    for partition in partitions:
        partition.mark()
        partition.idle(STARTED_MS, TIMEOUT_MS)
        partition.drain()


def _records(load: OpenMessages) -> Iterator[tuple[int, InputRecord]]:
    offsets = [0] * PARTITIONS
    for number, key, value in load:
        yield number, InputRecord("tokens", number, offsets[number], STARTED_MS, key, value)
        offsets[number] += 1


def _resident() -> int:
    gc.collect()
    known = resident_bytes(os.getpid())
    if known is None:
        raise FatalError("this system does not tell what a process holds; the benchmark needs /proc")
    return known


def _peak() -> int:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
