"""What an open message costs in memory: many of them in one partition, as in a worker."""

import gc
import tracemalloc
from collections.abc import Iterator

import msgspec

from tokenmill.bench.texts import FILE, PLAIN, TOOLS, call_text, chunks_of, running_text, samples
from tokenmill.parser import Options
from tokenmill.partition import Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

MESSAGES = 250

IDLE_CHARS, CALL_CHARS = 200, 1_000


class Footprint(msgspec.Struct, frozen=True):
    """Bytes of Python objects that one more open message keeps."""

    what: str
    bytes_per_message: float


def measure_memory() -> list[Footprint]:
    """Measure an idle message after some text, and one inside a call; tools are the same for all, as in practice."""
    return [
        Footprint(
            f"open, idle after {IDLE_CHARS} characters of text", _bytes_per_message(running_text(PLAIN, IDLE_CHARS))
        ),
        Footprint(f"open, {CALL_CHARS:,} characters into a call", _bytes_per_message(_half_a_call())),
    ]


def _half_a_call() -> str:
    sample = samples()["json_call"]
    return call_text(sample, FILE, CALL_CHARS).removesuffix(sample.after)


def _bytes_per_message(text: str) -> float:
    partition = Partition(PartitionSettings(defaults=Options(format="hermes", tools=TOOLS)), "tokens", 0)
    _open(partition, text, 1)  # what is made once is made before the counting begins
    gc.collect()
    tracemalloc.start()
    try:
        _open(partition, text, MESSAGES)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / MESSAGES
    finally:
        tracemalloc.stop()


def _open(partition: Partition, text: str, messages: int) -> None:
    out: list[Output] = []
    for record in _records(partition.offset, text, messages):
        partition.process((record,), out)
        out.clear()
    # As after a commit and a snapshot: notes of what changed are gone.
    partition.mark()
    partition.changes(full=True)
    partition.drain()


def _records(first: int, text: str, messages: int) -> Iterator[InputRecord]:
    chunks = chunks_of(text)
    values = [msgspec.json.encode({"seq": seq, "delta": chunk}) for seq, chunk in enumerate(chunks)]
    for offset in range(messages * len(chunks)):
        message, seq = divmod(offset, len(chunks))
        key = b"conversation-%d-%d" % (first, message)
        yield InputRecord("tokens", 0, first + offset, 1_760_000_000_000, key, values[seq])
