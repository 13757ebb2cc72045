"""Offsets set by hand, or by a foreign consumer: what such a commit means, and what is reported of it (design 4.14).

A commit without a mark is an order to begin there. It has nothing of the state, so that is rebuilt from a record which
is older than any message can be. Nor does it show what was processed before. The output does: its last event is of the
last record that made one. So it is known what was skipped, and what is published again.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import TopicAuthorizationFailedError

from tokenmill.config import Config
from tokenmill.errors import Unavailable
from tokenmill.kafka.calls import deadline, running
from tokenmill.kafka.clients import make_reader
from tokenmill.kafka.lookup import bounds_of
from tokenmill.kafka.topic_log import Extent
from tokenmill.observe import Numbers
from tokenmill.partition import Mark, Move, Moved, PartitionSettings, Published
from tokenmill.records import InputRecord, header
from tokenmill.worker.positions import Committed

log = logging.getLogger(__name__)

START_S = 30.0

POLL_MS = 500

TAIL = 64
"""Offsets at the end of an output that are searched for an event first; then four times as many, and so on."""

LONGEST_TAIL = 64 * 4**8
"""Most offsets that are searched: only transactions of dead producers leave that many without an event."""


async def understand(
    config: Config,
    settings: PartitionSettings,
    committed: Mapping[TopicPartition, Committed],
    extents: Mapping[TopicPartition, Extent],
) -> dict[TopicPartition, Committed]:
    """Return the commits without a mark, each with one that leads to its state. Raises `Unavailable`; try again."""
    bare = {tp: found.offset for tp, found in committed.items() if found.mark is None}
    bare = {tp: offset for tp, offset in bare.items() if offset <= extents[tp].agreed}
    if not bare:
        return {}
    async with running(lambda: make_reader(config.kafka), "connect", START_S) as consumer:
        looking = _Looking(config, settings, consumer)
        return {tp: await looking.at(tp, offset, extents[tp]) for tp, offset in bare.items()}


class _Looking:
    """Looks at the input and at the first output."""

    def __init__(self, config: Config, settings: PartitionSettings, consumer: AIOKafkaConsumer) -> None:
        self._events = config.topics.events
        self._max_age_ms = int(config.worker.max_age_s * 1000)
        self._settings = settings
        self._consumer = consumer

    async def at(self, tp: TopicPartition, offset: int, extent: Extent) -> Committed:
        """Return the commit at that offset, understood."""
        reach = await self._reach(tp, offset, extent.first)
        # What the topic no longer holds may have had the beginning of something that is still open.
        low_water = reach - 1 if 0 < reach == extent.first else reach
        mark = Mark(offset, min(low_water, offset), self._settings.fingerprint(), log=extent.log)
        return Committed(offset, mark, await self._move(tp))

    async def _reach(self, tp: TopicPartition, offset: int, first: int) -> int:
        """Return from where on the log holds all that can be open at the offset, or remembered as ended.

        Nothing is older than `worker.max_age_s`, and an end is remembered for some records.
        """
        base = max(first, offset - self._settings.ended_offsets - 1)
        if base >= offset:
            return min(first, offset)
        records = await self._read(tp, base, offset, all_of_it=False)
        oldest = min((record.timestamp for record in records), default=0) - self._max_age_ms
        found = await self._since(tp, oldest) if oldest > 0 else None
        return first if found is None else max(first, min(found, base))

    async def _since(self, tp: TopicPartition, timestamp: int) -> int | None:
        """Return the first offset with that timestamp or a later one."""
        found = await deadline(self._consumer.offsets_for_times({tp: timestamp}), "offsets by time")
        return None if found[tp] is None else int(found[tp].offset)

    async def _move(self, tp: TopicPartition) -> Move:
        """Return what the output shows of how far processing came."""
        place = TopicPartition(self._events, tp.partition)
        self._consumer.assign([place])
        first, end = await bounds_of(self._consumer, place)
        if end == 0:
            return Move(done=0)
        try:
            last = await self._last(place, first, end)
        except TopicAuthorizationFailedError:
            log.warning("%s can't be read: what was published before is not known", self._events)
            return Move()
        since = await self._since(tp, last.timestamp) if last is not None else None
        return Move() if last is None or since is None else Move(last._replace(since=since))

    async def _last(self, place: TopicPartition, first: int, end: int) -> Published | None:
        """Return the last event of an output that has a number."""
        tail = TAIL
        while True:
            start = max(first, end - tail)
            records = await self._read(place, start, end)
            for record in reversed(records):
                if (event := event_of(record)) is not None:
                    return event
            if start == first or tail >= LONGEST_TAIL:
                return None
            tail *= 4

    async def _read(
        self, place: TopicPartition, start: int, end: int, *, all_of_it: bool = True
    ) -> Sequence[ConsumerRecord]:
        """Return the records from one offset to another, or only some of the first."""
        consumer, found = self._consumer, list[ConsumerRecord]()
        consumer.assign([place])
        consumer.seek(place, start)
        with suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                while await consumer.position(place) < end and (all_of_it or not found):
                    batches: dict[Any, list[Any]] = await consumer.getmany(place, timeout_ms=POLL_MS)
                    found += [record for record in batches.get(place, ()) if record.offset < end]
                return found
        raise Unavailable(f"Kafka: {place.topic}/{place.partition} was not read within {START_S:g} s")


def event_of(record: ConsumerRecord | InputRecord) -> Published | None:
    """Return which event a record is of; None for one without a number, and for what no worker wrote."""
    message_id, choice, seq = (header(record.headers, f"tm-{name}") for name in ("message-id", "choice", "seq"))
    key = record.key or b""
    try:
        return Published(record.timestamp, key, (message_id or b"").decode(), int(choice or 0), int(seq or b""), 0)
    except ValueError:  # of `decode`, too
        return None


def report_move(numbers: Numbers, place: TopicPartition, until: int, moved: Moved | None) -> None:
    """Count and log what became of an offset that was not committed by a worker."""
    if moved is None:
        return
    numbers.add("tokenmill_offsets_moved_total", moved.direction)
    numbers.add("tokenmill_records_skipped_total", by=moved.skipped[1] - moved.skipped[0])
    log.error("%s/%d: offset %d was not committed by a worker: %s", *place, until, sentence(moved, until))


def sentence(moved: Moved, until: int) -> str:
    """Describe what became of it."""
    if moved.direction == "forward":
        first, last = moved.skipped
        lost = len(moved.lost)
        return (
            f"records {first} to {last - 1} are skipped, with {moved.events} events that nobody gets; "
            f"{lost} messages that were open end as lost"
        )
    return {
        "back": f"what was published from {until} on is published again",
        "none": "no events are skipped or published again; dead letters from there on are written again",
    }.get(moved.direction, "what was processed before is not known, nor whether anything is skipped")
