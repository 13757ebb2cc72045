"""What the live view is told of an answer, as a recording: made by the code that tells it, with times of its own."""

from collections.abc import Iterator, Sequence

import msgspec

from tokenmill.inspector.lines import Line
from tokenmill.inspector.live import Watch
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

SETTINGS = PartitionSettings(outputs=(OutputSpec("events"),))

EPOCH_MS = 1_800_000_000_000


def recording(pieces: Sequence[str], published: int, **opening: object) -> bytes:
    """The lines of an answer in pieces, the events of the first of which a worker has `published`."""
    return msgspec.json.Encoder().encode_lines(lines_of(pieces, published, **opening))


def lines_of(pieces: Sequence[str], published: int, **opening: object) -> Iterator[Line]:
    """The same as what they are: a piece every tenth of a second, and events some milliseconds later."""
    watch, worker, offset = Watch(SETTINGS, ("tokens", "events"), 0), Partition(SETTINGS, "tokens", 0), 0
    for number, piece in enumerate(pieces):
        chunk = {"message_id": "answer", "delta": piece, **({} if number else {"open": opening})}
        took, came = (number % 4 + 1) * 0.006, number / 10 + number % 3 / 50
        record = InputRecord("tokens", 0, number, EPOCH_MS + int(came * 1000), b"c", msgspec.json.encode(chunk))
        yield from watch.token(record, came)
        for output in outputs_of(worker, record) if number < published else ():
            event = InputRecord("events", 0, offset, output.timestamp, output.key, output.value, output.headers)
            yield from watch.event(event, came + took, came)
            offset += 1


def outputs_of(worker: Partition, record: InputRecord) -> list[Output]:
    """What a worker publishes for a record."""
    out = list[Output]()
    worker.process([record], out)
    return out
