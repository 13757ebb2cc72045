"""The load of the pipeline benchmark: many conversations at once, most of their text plain, some of it tool calls."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count, islice
from typing import TypeAlias

import msgspec

from tokenmill.bench.texts import CHUNK_CHARS, FILE, PLAIN, call_text, chunks_of, running_text, samples
from tokenmill.partition import Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

PARTITIONS = 4

Record: TypeAlias = tuple[int, bytes, bytes]
"""Partition, key and value."""

OPEN_AT_ONCE = 1_000
"""Conversations that grow at the same time, each at a different place in its message: they begin one after another."""

PLAIN_CHARS = 640
CALL_CHARS = 160
"""Characters of a call's argument. A message is about 200 chunks, a quarter of them in a call, as in an agent's
turn."""

SHAPE_MESSAGES = 50
"""Whole messages from which the mean number and size of outputs is taken."""

STARTED_MS = 1_760_000_000_000


class Load(msgspec.Struct, frozen=True):
    """A number of records, spread over conversations and partitions."""

    records: int
    partitions: int = PARTITIONS
    tokens: int = 1
    """Tokens of four characters in one record."""

    def __iter__(self) -> Iterator[Record]:
        return islice(_growing(self.partitions, _values(self.tokens)), self.records)


def _growing(partitions: int, values: Sequence[bytes]) -> Iterator[Record]:
    """Yield records without end. Consecutive ones belong to different conversations."""
    chunks = len(values)
    starts = [conversation * chunks // OPEN_AT_ONCE for conversation in range(OPEN_AT_ONCE)]
    for time in count():
        for conversation, start in enumerate(starts):
            if start > time:
                break  # the other conversations have not begun either
            generation, step = divmod(time - start, chunks)
            yield conversation % partitions, b"conversation-%d-%d" % (generation, conversation), values[step]


@cache
def _values(tokens: int) -> Sequence[bytes]:
    """Return the chunks of one message as native JSON; all messages are equal, and each parser sees only its own."""
    text = running_text(PLAIN, PLAIN_CHARS) + call_text(samples()["json_call"], FILE, CALL_CHARS)
    texts = chunks_of(text, tokens * CHUNK_CHARS)
    last = len(texts)
    fields = [{"message_id": "m1", "seq": seq, "delta": text} for seq, text in enumerate(texts)]
    return [
        msgspec.json.encode(chunk) for chunk in [*fields, {"message_id": "m1", "seq": last, "finish_reason": "stop"}]
    ]


MESSAGE_CHUNKS = len(_values(1))


class Shape(msgspec.Struct, frozen=True):
    """What the service makes of the load, computed without a broker."""

    outputs_per_record: float
    mean_output_bytes: float
    """Value and headers, without the key."""


def shape_of(settings: PartitionSettings) -> Shape:
    """Run some whole messages through a partition and measure what comes out."""
    partition = Partition(settings, "tokens", 0)
    out: list[Output] = []
    partition.process(whole_messages(SHAPE_MESSAGES), out)
    size = sum(len(one.value or b"") + sum(len(name) + len(value) for name, value in one.headers) for one in out)
    return Shape(len(out) / partition.offset, size / len(out))


def whole_messages(count: int) -> Iterator[InputRecord]:
    """Yield the records of `count` messages that begin and end together, all on one partition."""
    values = _values(1)
    for number in range(count * MESSAGE_CHUNKS):
        step, conversation = divmod(number, count)
        yield InputRecord("tokens", 0, number, STARTED_MS, b"conversation-0-%d" % conversation, values[step])
