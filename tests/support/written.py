"""A producer without Kafka: what was written to it, in order, and what a worker makes of it."""

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from tokenmill.events import AnyEvent, Error, Finish, MessageStart, TextDelta, decode_event
from tokenmill.gateway.ingest.in_flight import ByteBudget, InFlightRecord, WrittenAt
from tokenmill.gateway.problems import Refused
from tokenmill.partition import Partition, PartitionSettings
from tokenmill.records import Headers, InputRecord, Output, header

PARTITION = 3


class Record(NamedTuple):
    topic: str
    key: bytes
    value: bytes | None
    headers: Headers

    @property
    def chunk(self) -> dict[str, Any]:
        """A native chunk, or an event."""
        content: dict[str, Any] = msgspec.json.decode(self.value or b"")
        return content

    def header(self, name: str) -> str:
        """Empty where there is none."""
        return (header(self.headers, name) or b"").decode()


class Written:
    """A `Writer` that keeps everything in memory. Offsets count from 0."""

    acknowledged_s = 0.0

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.refusals: dict[int, Refused] = {}
        """By offset: records that are refused in place of an acknowledgement."""
        self.taking = asyncio.Event()
        """Cleared: there is no room."""
        self.taking.set()
        self.acknowledging = asyncio.Event()
        """Cleared: acknowledgements are held back."""
        self.acknowledging.set()

    async def partition(self, topic: str, key: bytes) -> int:  # noqa: ARG002 -- as a producer has it
        return PARTITION

    async def put(
        self, topic: str, partition: int, key: bytes, value: bytes | None, headers: Headers = ()
    ) -> InFlightRecord:
        assert partition == PARTITION
        await self.taking.wait()
        offset = len(self.records)
        self.records.append(Record(topic, key, value, list(headers)))
        sent = InFlightRecord(ByteBudget(1), len(value or b""), 5)
        self._settling = asyncio.create_task(self._settle(sent, offset))
        return sent

    async def _settle(self, sent: InFlightRecord, offset: int) -> None:
        await self.acknowledging.wait()
        sent.settle(self.refusals.get(offset) or WrittenAt(PARTITION, offset))

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """The native chunks."""
        return [record.chunk for record in self.records if record.header("tm-codec") == "native"]


SETTINGS = PartitionSettings()


def told(
    records: Iterable[tuple[bytes | None, Headers]], settings: PartitionSettings = SETTINGS
) -> dict[str, list[str]]:
    """What a worker makes of records of one conversation: by message its text, its errors and how it ended."""
    partition, out = Partition(settings, "tokens", 0), list[Output]()
    for offset, (value, headers) in enumerate(records):
        partition.process([InputRecord("tokens", 0, offset, 1_760_000_000_000, b"c", value, list(headers))], out)
    said: dict[str, list[str]] = {}
    for output in out:
        if output.topic == settings.dlq:
            said.setdefault("dlq", []).append((header(output.headers, "tm-error") or b"").decode())
        elif output.topic == "events":
            event = decode_event(output.value or b"")
            if word := _word(event):
                said.setdefault(event.message_id, []).append(word)
    return said


def _word(event: AnyEvent) -> str:
    match event:
        case TextDelta():
            return event.delta
        case Error():
            return f"{event.code}: {event.message}"
        case Finish():
            return f"[{event.reason}]"
        case MessageStart() if event.format != "plain":
            return f"<{event.format}>"
    return ""
