"""P8: what a partition says of its size is what it takes, or `worker.state_mib` would cap something else."""

import gc
import tracemalloc
from collections.abc import Sequence

import msgspec
import pytest

from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord

MESSAGES = 60

LEAST, MOST = 0.75, 2.2
"""Of the memory that is really taken. Characters that are not ASCII take two or four bytes, and are counted as four."""

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": "'

NATIVE = PartitionSettings()
WHOLE = PartitionSettings(outputs=(OutputSpec("events"), OutputSpec("completions", "openai_completion", key="choice")))

MADE_OF = {
    "idle messages": (NATIVE, ["hello world"]),
    "an open call in English": (NATIVE, [CALL] + ["word"] * 200),
    "an open call in Chinese": (NATIVE, [CALL] + ["漢字漢字"] * 200),
    "an open call of symbols": (NATIVE, [CALL] + ["😀😀😀😀"] * 200),
    "answers that are kept whole": (WHOLE, ["word"] * 200),
}


def _taken(settings: PartitionSettings, deltas: Sequence[str]) -> tuple[Partition, int]:
    """A partition with so many messages of these deltas, and the bytes that it takes."""
    gc.collect()
    tracemalloc.start()
    try:
        partition, offset = Partition(settings, "tokens", 0), 0
        for number in range(MESSAGES):
            for seq, delta in enumerate(deltas):
                chunk = {"message_id": f"message-{number}", "seq": seq, "delta": delta}
                value = msgspec.json.encode(chunk | ({} if seq else {"open": {"format": "hermes"}}))
                record = InputRecord("tokens", 0, offset, 1, b"conversation-%d" % number, value)
                partition.process([record], [])
                offset += 1
        partition.mark()
        partition.drain()
        gc.collect()
        return partition, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", MADE_OF)
def test_the_size_is_what_is_taken(name: str) -> None:
    """Within a factor of two, rather too much than too little, whatever is kept."""
    settings, deltas = MADE_OF[name]
    _taken(settings, deltas)  # what is made once, such as compiled grammars, belongs to no message
    partition, taken = _taken(settings, deltas)
    assert LEAST <= partition.size / taken <= MOST, (partition.size, taken)
