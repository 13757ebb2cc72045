"""What a broker of ours has on its disk: also what no reader sees, and who wrote it."""

from pathlib import Path
from typing import NamedTuple

from aiokafka.record.memory_records import MemoryRecords


class Written(NamedTuple):
    """On one partition."""

    producers: list[tuple[int, int]]
    """Id and epoch of whoever wrote, in the order of the log; once for batches in a row."""
    records: int
    """Committed or not, without the marks of transactions."""


def written_to(folder: Path) -> Written:
    """Read all segments of a partition."""
    producers: list[tuple[int, int]] = []
    records = 0
    for path in sorted(folder.glob("*.log")):
        log = MemoryRecords(path.read_bytes())
        while (batch := log.next_batch()) is not None:
            producer = batch.producer_id, batch.producer_epoch
            if producers[-1:] != [producer]:
                producers.append(producer)
            records += 0 if batch.is_control_batch else batch.last_offset_delta + 1
    return Written(producers, records)
