"""A partition of the events topic in memory: what a worker publishes there, and how a gateway reads it."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import msgspec
from aiokafka import AIOKafkaProducer

from tokenmill.dialects import Dialect
from tokenmill.gateway.event_log.entry import Entry, entries
from tokenmill.gateway.event_log.log_readers import DeletedByRetention
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.view import Frame, View
from tokenmill.gateway.event_log.window import Window, Windows
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord

START_MS = 1_760_000_000_000

OPEN = {"format": "hermes", "model": "some-model"}

Said = tuple[str, Mapping[str, Any]]
"""A conversation, and a chunk of it."""


class Logged(NamedTuple):
    """A record of the topic."""

    offset: int
    timestamp: int
    key: bytes
    value: bytes
    headers: Sequence[tuple[str, bytes]]


class EventLog:
    """Reads like `LogReaders`. Offsets have holes, as in a topic with transactions."""

    def __init__(self, said: Iterable[Said] = (), step: int = 2) -> None:
        self._step = step
        self.first = 0
        self.records: list[Logged] = []
        self._partition = Partition(PartitionSettings(outputs=(OutputSpec("events"),), dlq="dlq"), "tokens", 0)
        self._said = 0
        self.say(said)

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self.records[-1].offset + self._step if self.records else 0

    def say(self, said: Iterable[Said]) -> None:
        """Let a worker publish what comes of chunks, a millisecond apart."""
        for key, chunk in said:
            value, now = msgspec.json.encode(chunk), START_MS + self._said
            out: list[Any] = []
            self._partition.process([InputRecord("tokens", 0, self._said, now, key.encode(), value)], out)
            self._said += 1
            for each in out:
                assert each.topic == "events", dict(each.headers)
                self.records.append(Logged(self.end, each.timestamp, each.key, each.value, each.headers))

    def repeat(self, first: int, last: int | None = None) -> None:
        """Publish records of these indices again, as a worker does that takes over."""
        for record in self.records[first:last]:
            self.records.append(record._replace(offset=self.end))

    async def publish(self, bootstrap: str, topic: str, partition: int, start: int = 0) -> None:
        """Put the records from an index on onto a partition of a topic."""
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)
        await producer.start()
        try:
            for each in self.records[start:]:
                place = {"partition": partition, "timestamp_ms": each.timestamp}
                await producer.send(topic, each.value, key=each.key, headers=list(each.headers), **place)
        finally:
            await producer.stop()

    def entries(self, start: int = 0) -> list[Entry]:
        """What a gateway makes of it."""
        return entries(0, [record for record in self.records if record.offset >= max(start, self.first)])

    def window(self, at: int | None = None) -> Window:
        """A window that holds everything from an offset on, by default nothing."""
        windows = Windows(1 << 30, 1e9)
        window = windows.open(0, self.end if at is None else at)
        windows.add(0, self.entries(window.first), self.end, 0)
        return window

    # As `LogReaders`

    def of(self, _name: str) -> "EventLog":
        """All read at once here, none in turns."""
        return self

    async def read(
        self, _partition: int, start: int, key: bytes, _stop: float = inf, most: int = 7
    ) -> tuple[list[Entry], int]:
        """Some records, few at a time. Raises `DeletedByRetention`."""
        if start < self.first:
            raise DeletedByRetention(self.first)
        some = [record for record in self.records if record.offset >= max(start, self.first)][: min(most, 7)]
        after = some[-1].offset + 1 if some else self.end
        return entries(0, [record for record in some if record.key == key]), after

    async def bounds(self, _partition: int) -> tuple[int, int]:
        """Where it begins and ends."""
        return self.first, self.end

    async def since(self, _partition: int, time_ms: int) -> int | None:
        """The first offset of that time."""
        found = (each.offset for each in self.records if each.offset >= self.first and each.timestamp >= time_ms)
        return next(found, None)

    async def time_before(self, _partition: int, offset: int) -> int:
        """Of the last record there; 0 if there is none."""
        return max((each.timestamp for each in self.records if self.first <= each.offset < offset), default=0)


def spoken(message: str, text: str, step: int = 5, **more: Any) -> list[dict[str, Any]]:
    """The chunks of a message."""
    chunks: list[dict[str, Any]] = [{"delta": text[at : at + step]} for at in range(0, len(text), step)]
    chunks = [*chunks, {"finish_reason": "stop"}]
    chunks[0] = chunks[0] | {"open": OPEN}
    return [{"message_id": message, "seq": seq} | chunk | more for seq, chunk in enumerate(chunks)]


def woven(*streams: Sequence[Said]) -> list[Said]:
    """One chunk of each in turn."""
    longest = max(map(len, streams))
    return [stream[at] for at in range(longest) for stream in streams if at < len(stream)]


def of(key: str, chunks: Iterable[Mapping[str, Any]]) -> list[Said]:
    """Chunks of a conversation."""
    return [(key, chunk) for chunk in chunks]


def frames_of(came: Iterable[Entry], dialect: Dialect, key: bytes = b"c") -> list[Frame]:
    """What a reader that was there all the time is sent."""
    view = View(dialect, 0)
    return [frame for entry in came if entry.key == key for frame in view.take(entry)]


def position_of(frame: Frame) -> Position:
    """Its id."""
    return frame.id(0)
