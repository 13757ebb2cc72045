"""`Partition`: the open messages of one Kafka partition, in offset order.

Rules of this file:

1. The output of a record and the state after it are functions of the state before it and the record alone. So the
   state at an offset is a function of the log below it, whether it was reached live, from a snapshot or by a replay.
2. No content of a record makes anything raise: a record that can't be used becomes a dead letter, and so does one that
   this program fails on.
3. The host calls `mark`, `idle` and `changes` between batches; they see whole records only.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest

from tokenmill.codecs import Chunk
from tokenmill.errors import Defect, RecordError
from tokenmill.parser import Grammar
from tokenmill.partition.chunks import Chunks
from tokenmill.partition.dead_letters import dead_letter
from tokenmill.partition.defects import defect, lose_message
from tokenmill.partition.idle import Condition, IdleWatch, TimeoutControl, timeout_control
from tokenmill.partition.intake import Intake, Kept
from tokenmill.partition.log_id import UNKNOWN_EPOCH, UNKNOWN_LOG
from tokenmill.partition.low_water import LowWater
from tokenmill.partition.mark import Mark
from tokenmill.partition.message import Message
from tokenmill.partition.messages import Messages
from tokenmill.partition.missing import Missing
from tokenmill.partition.opening import Opener
from tokenmill.partition.outputs import Outputs
from tokenmill.partition.rebuild import Restored, in_steps
from tokenmill.partition.recovery import (
    GONE,
    SKIPPED,
    Gaps,
    Replay,
    ReplayEnd,
    announcement,
    disown,
    lose,
    lose_announced,
)
from tokenmill.partition.settings import PartitionSettings
from tokenmill.partition.short_path import ShortPath
from tokenmill.partition.skipped import Move, Skips
from tokenmill.partition.snapshot import SCHEMA, Meta, SnapshotWrite, encode_meta
from tokenmill.partition.tally import Tally
from tokenmill.partition.unsaved import Unsaved
from tokenmill.records import Output, Record

MESSAGE_BYTES = 1536
"""Bytes that an open message takes, roughly, besides the text that its parser holds."""


def size_of(partitions: Sequence["Partition"]) -> int:
    """About how many bytes partitions take together for what has not ended: what its end would free.

    Each grammar counts once, however many partitions use it.
    """
    grammars = {key: grammar for partition in partitions for key, grammar in partition.grammars.items()}
    return sum(partition.own_size for partition in partitions) + sum(each.memory for each in grammars.values())


class Partition:
    """State of one input partition: a function of the log below `offset`, and of nothing else."""

    def __init__(
        self,
        settings: PartitionSettings,
        topic: str,
        number: int,
        offset: int = 0,
        *,
        low_water: LowWater | None = None,
    ) -> None:
        self.settings = settings
        self.topic = topic
        self.number = number
        self.offset = offset
        """The next offset to process."""
        self.log = UNKNOWN_LOG
        """Log that the records belong to; set by the host."""
        self.epoch = UNKNOWN_EPOCH
        """Epoch of the leader that wrote the last of them; set by the host."""
        self.time = 0
        """Timestamp of the last record, in milliseconds since the epoch."""
        self.tally = Tally()
        self._fingerprint = settings.fingerprint()
        self._gaps = Gaps()
        self._replay: Replay | None = None
        self._skips: Skips | None = None
        self._low_water = low_water or LowWater()
        self._messages = Messages(self._low_water, settings.ended_offsets)
        self._outputs = Outputs(settings, self.tally)
        self._intake = Intake(settings.codec, settings.limits.record_bytes, self._low_water, self.tally)
        opener = Opener(settings, number, self._low_water, self._intake.oldest)
        self._chunks = Chunks(opener, self._messages, self._low_water, self._outputs, self.tally, settings.max_age_ms)
        self._short_path = ShortPath(
            settings.limits.record_bytes, self._intake, self._messages, self._outputs, self._broken
        )
        self._watch: IdleWatch[Message] | None = None
        self._stream_watch = IdleWatch[Kept]()
        self._unsaved = Unsaved(self._messages, self._intake)

    # The hot path

    def process(self, records: Iterable[Record], out: list[Output]) -> None:
        """Apply records in offset order and append their output to `out`.

        Records below `offset` are skipped. Gaps between offsets are normal: markers of transactions take offsets, too.
        """
        if self._replay is not None:
            records = self._until_lost(records, self._replay)
        rest = iter(records)
        while (record := self._short_path.take(rest, self, out)) is not None:
            offset = record.offset
            if offset < self.offset:
                continue
            if offset >= self._messages.forget_at:
                self._messages.forget(offset)
            self._process(record, out)
            self.offset = offset + 1
            self.time = record.timestamp

    def _process(self, record: Record, out: list[Output]) -> None:
        """Apply one record on the long path."""
        chunks: Sequence[Chunk] = ()
        at = 0
        try:
            chunks, root = self._intake.read(record)
            for at in range(len(chunks)):
                self._chunks.apply(chunks[at], record, root, out)
        except RecordError as problem:
            self._reject(record, problem, out)
        except Exception as problem:  # noqa: BLE001 -- whatever it is, it must not stop the partition
            rest = chunks[at:]
            message = self._chunks.message_of(rest[0], record) if rest else None
            self._broken(message, record, problem, out)
            if message is not None:
                self._chunks.end_lost(message, rest, record)

    def _reject(self, record: Record, problem: RecordError, out: list[Output]) -> None:
        self.tally.reject(record.offset, problem.code)
        if isinstance(problem, Defect):
            self.tally.fail(str(problem))
        source, cap = (self.topic, self.number), self.settings.limits.output_bytes
        out.append(dead_letter(record, source, problem, self.settings.dlq, cap))

    def _broken(self, message: Message | None, record: Record, problem: Exception, out: list[Output]) -> None:
        """Reject a record that this program failed on. The state of its message is unknown, so the message is lost."""
        self._reject(record, defect(problem), out)
        for choice in lose_message(self._messages, message) if message is not None else ():
            self._outputs.announce(announcement("internal"), choice, record.timestamp, out)

    def drain(self) -> Tally:
        """Return the counts since the last call."""
        return self.tally.drain()

    # What a commit holds

    def mark(self) -> Mark:
        """The mark for a commit of `offset`."""
        self._settle()
        low_water, gaps = self._low_water.at(self.offset), self._gaps
        gaps.prune(low_water)
        self._chunks.missing = self._chunks.missing.at(self.offset, low_water)
        return Mark(
            offset=self.offset,
            low_water=low_water,
            fingerprint=self._fingerprint,
            count=self._messages.count,
            digest=self._messages.digest,
            unseen_until=gaps.unseen_until,
            foreign_until=gaps.foreign_until,
            announced=gaps.announced,
            skipped=gaps.skipped,
            missing=self._chunks.missing,
            log=self.log,
            epoch=self.epoch,
        )

    def _settle(self) -> None:
        """Note which messages have changed."""
        changed = self._messages.settle()
        self._unsaved.note(changed)
        if self._watch is not None:
            self._watch.add(changed)

    # Recovery

    def begin_replay(self, mark: Mark, *, lossy: bool, move: Move | None = None) -> None:
        """Begin to replay records from here to `mark.offset`; any output of theirs must not be published.

        `lossy`: the replay should have started at `mark.low_water`, but the topic no longer holds that. `move`: what is
        known about a mark's offset that was set by hand.
        """
        self._replay = Replay(mark, self.offset, lossy)
        if mark.skipped or move is not None:
            self._skips = Skips(self._messages, mark.skipped, self.offset, mark.offset, move)
        self._outputs.unsent = 0
        self._chunks.unseen_until = self._replay.unseen_until
        self._chunks.missing = Missing(until=mark.missing.until)
        self._outputs.silent = True

    def replay(self, records: Iterable[Record]) -> None:
        """Apply records of a replay: their output is dropped, and they are not counted again."""
        self.process(records, [])
        self.mark()  # else each message that the replay passes would be noted until it is over
        self.drain()

    def end_replay(self, out: list[Output], first: int = 0) -> ReplayEnd:
        """End the replay at the mark's offset: announce what could not be rebuilt, and go live.

        To be called even if there was nothing to replay. `first` is the topic's first offset. If it is after the mark,
        records were dropped that nobody has processed, and every open message may lack some.
        """
        replay = self._replay
        assert replay is not None  # begin_replay comes first
        self._replay, self._chunks.unseen_until, self._outputs.silent = None, 0, False
        self.offset = max(self.offset, replay.mark.offset)
        self.drain()
        self._gaps = replay.gaps(self._fingerprint)
        moved = self._skips.end(self._outputs.unsent) if self._skips is not None else None
        skipped = moved.lost if moved is not None else ()
        if moved is not None and skipped:
            self._gaps.skip(moved.skipped)
        self._skips = None
        lost = lose(self._messages, replay, self._fingerprint)
        self._settle()
        agrees = (self._messages.count, self._messages.digest) == (replay.mark.count, replay.mark.digest)
        for code, choice in lost:
            self._outputs.announce(announcement(code), choice, self.time, out)
        for choice in skipped:
            self._outputs.announce(announcement("state-lost", SKIPPED), choice, self.time, out)
        count = len(lost) + len(skipped)
        agrees = agrees or replay.lossy or bool(count)
        self._chunks.missing = replay.missing(self._messages.count, self.time, self.settings.max_age_ms)
        count += self._pass_over(first, out) if first > self.offset else 0
        return ReplayEnd(lost=count, agrees=agrees, moved=moved, missing=self._chunks.missing.count)

    def _pass_over(self, first: int, out: list[Output]) -> int:
        """Continue at `first`, without the messages open before; returns how many are announced as lost."""
        self.offset = first
        time = self.time and self.time + self.settings.max_age_ms
        self._chunks.missing = self._chunks.missing.more(self._intake.drop(), time)
        return self.lose_open(out, GONE)

    def lose_open(self, out: list[Output], why: str, opened_from: int = 0) -> int:
        """Announce open messages that opened at `opened_from` or later as lost, and remember it; returns how many."""
        lost = disown(self._messages, self._gaps, self.offset, opened_from)
        self._settle()
        for choice in lost:
            self._outputs.announce(announcement("state-lost", why), choice, self.time, out)
        return len(lost)

    def _until_lost(self, records: Iterable[Record], replay: Replay) -> Iterator[Record]:
        """The records of a replay; messages are lost where it passes the offset at which their loss was announced."""
        for record in records:
            if replay.mark.announced and replay.announces(self.offset, record.offset):
                lose_announced(self._messages, replay, record.offset)
            if (skips := self._skips) is not None:
                skips.before(record.offset, self._outputs.unsent)
            yield record
            if skips is not None:
                skips.after(record, self._outputs.unsent)

    # Time and memory

    @property
    def open_messages(self) -> int:
        """Number of open messages; each choice counts."""
        return self._messages.count

    def going_on(self) -> list[tuple[str | None, int]]:
        """Id and choice of the messages that have not ended; the id of an unnamed message is None."""
        return [
            (message.id if message.named else None, choice.index)
            for message in self._messages
            for choice in message.going_on()
        ]

    @property
    def open_streams(self) -> int:
        """Number of streams for which a codec keeps state."""
        return len(self._intake)

    @property
    def size(self) -> int:
        """About how many bytes the state takes, as of the last `mark`."""
        return size_of([self]) + self._messages.packed_bytes

    @property
    def own_size(self) -> int:
        """The same only for what has not ended, without the grammars, which partitions share."""
        return self._messages.count * MESSAGE_BYTES + self._messages.held + self._intake.memory

    @property
    def grammars(self) -> Mapping[str, Grammar]:
        """Grammars of its messages that have not ended, by key."""
        return self._messages.grammars

    def idle(self, now_ms: int, timeout_ms: int) -> list[TimeoutControl]:
        """Timeouts to write to the input topic, one for each message and stream that got no record for `timeout_ms`.

        To be called every few seconds, with a monotonic clock and always the same `timeout_ms`.
        """
        if self._watch is None:
            self._watch = IdleWatch()
            self._watch.add(self._messages)
        self._settle()
        self._stream_watch.add(self._intake.begun())
        messages = self._watch.overdue(now_ms, timeout_ms)
        streams = self._stream_watch.overdue(now_ms, timeout_ms)
        return [*(stream.timeout() for stream in streams), *map(timeout_control, messages)]

    def opened_before(self, offset: int) -> list[TimeoutControl]:
        """Timeouts for each message and stream opened before `offset`, even if it still gets records."""
        if self._low_water.at(self.offset) >= offset:
            return []
        condition = Condition(opened_before=self.offset)
        streams = (kept.timeout(condition) for kept in self._intake if kept.root.offset < offset)
        messages = (timeout_control(message, condition) for message in self._messages if message.opened < offset)
        return [*streams, *messages]

    def longest_idle(self, count: int) -> list[TimeoutControl]:
        """Timeouts for the `count` messages and streams whose last record is the oldest, for when memory runs short."""
        known: list[Message | Kept] = [*self._intake, *self._messages]
        longest = nsmallest(count, (each for each in known if each.going_on()), key=lambda each: each.last)
        return [each.timeout() if isinstance(each, Kept) else timeout_control(each) for each in longest]

    # Snapshots

    def changes(self, *, full: bool) -> SnapshotWrite:
        """The state at `offset`, or what changed in it since the last call; the first call always returns all of it.

        A write that was not acknowledged must be followed by a full one.
        """
        self._settle()
        full = full or not self._unsaved.base
        fields = self._unsaved.everything() if full else self._unsaved.changes()
        self._unsaved.reset()
        return SnapshotWrite(self.offset, encode_meta(self._meta()), fields.changed, fields.removed, full)

    def _meta(self) -> Meta:
        return Meta(
            schema=SCHEMA,
            topic=self.topic,
            partition=self.number,
            offset=self.offset,
            time=self.time,
            spans=self._low_water.spans,
            gaps=self._gaps,
            outputs=[(spec.topic, spec.dialect) for spec in self.settings.outputs],
            log=self.log,
            epoch=self.epoch,
        )

    @classmethod
    def restoring(
        cls,
        settings: PartitionSettings,
        topic: str,
        number: int,
        mark: Mark,
        snapshot: tuple[bytes, Mapping[bytes, bytes]],
    ) -> Generator[None, None, "Partition"]:
        """Restore the partition from a snapshot's meta and fields, for a replay up to `mark`. Runs in steps of a few
        milliseconds, so the caller can do other work in between.

        Raises `SnapshotError` if the bytes can't be read, or if the snapshot is from after the mark or from before
        something that was announced as lost because there was no snapshot.
        """
        restored = Restored(settings, *snapshot)
        restored.check((topic, number), mark)
        partition = cls(settings, topic, number, restored.meta.offset, low_water=restored.low_water)
        yield from partition._take_over(restored)
        return partition

    def _take_over(self, restored: Restored) -> Iterator[None]:
        meta = restored.meta
        self.time, self._gaps, self.log, self.epoch = meta.time, meta.gaps, meta.log, meta.epoch
        yield from in_steps(self._messages.restore(restored.messages()))
        for kept in restored.kept:
            self._intake.put(kept)
        if restored.meta.outputs == self._meta().outputs:
            self._unsaved.reset()
