"""`Partition`: the open messages of one Kafka partition, in offset order.

Rules of this file:

1. What comes out of a record, and the state after it, are functions of the state before and the record alone. So is the
   state at any offset of the log below it, however it was come by: live, from a snapshot, or by a replay.
2. Nothing raises on what stands in a record: a record that can't be used becomes a dead letter, and so does one that
   this program fails on.
3. The host asks for `mark`, `idle` and `changes` between batches; they see whole records only.
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
"""About what an open message takes beside the text that its parser holds."""


def size_of(partitions: Sequence["Partition"]) -> int:
    """About how many bytes partitions take together for what has not ended, and ends make free.

    Each grammar counts once, however many use it.
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
        """Of which the records are; the host knows."""
        self.epoch = UNKNOWN_EPOCH
        """Of the leader that wrote the last of them, likewise."""
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
        """Apply records in offset order and append what comes out.

        Records below `offset` are skipped; gaps between offsets are normal, where transactions are marked.
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
        """One record the long way."""
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
        """This program failed on the record: nobody knows what it has left of the message, so that is lost."""
        self._reject(record, defect(problem), out)
        for choice in lose_message(self._messages, message) if message is not None else ():
            self._outputs.announce(announcement("internal"), choice, record.timestamp, out)

    def drain(self) -> Tally:
        """The counts since the last call."""
        return self.tally.drain()

    # What a commit says

    def mark(self) -> Mark:
        """What the commit of `offset` says of the state."""
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
        """Take note of the messages that have changed."""
        changed = self._messages.settle()
        self._unsaved.note(changed)
        if self._watch is not None:
            self._watch.add(changed)

    # Recovery

    def begin_replay(self, mark: Mark, *, lossy: bool, move: Move | None = None) -> None:
        """From here to `mark.offset` records are replayed; what comes out, if anything does, is not to be published.

        `lossy`: the replay should have started at `mark.low_water`, but the topic no longer holds that. `move`: that
        offset was set by hand, and this is known of it.
        """
        self._replay = Replay(mark, self.offset, lossy)
        if mark.skipped or move is not None:
            self._skips = Skips(self._messages, mark.skipped, self.offset, mark.offset, move)
        self._outputs.unsent = 0
        self._chunks.unseen_until = self._replay.unseen_until
        self._chunks.missing = Missing(until=mark.missing.until)
        self._outputs.silent = True

    def end_replay(self, out: list[Output], first: int = 0) -> ReplayEnd:
        """The replay has come to the mark's offset: announce what could not be rebuilt, and go live.

        To be called also where there was nothing to replay. `first`: where the topic begins. Where that is behind the
        mark, records are gone that nobody has processed, and anything that is open may lack some.
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
        """Go on at `first`, without what was open before; answers how many messages are announced as lost."""
        self.offset = first
        time = self.time and self.time + self.settings.max_age_ms
        self._chunks.missing = self._chunks.missing.more(self._intake.drop(), time)
        return self.lose_open(out, GONE)

    def lose_open(self, out: list[Output], why: str, opened_from: int = 0) -> int:
        """Announce what was opened there or later, and is open, as lost; commits remember it. Answers how many."""
        lost = disown(self._messages, self._gaps, self.offset, opened_from)
        self._settle()
        for choice in lost:
            self._outputs.announce(announcement("state-lost", why), choice, self.time, out)
        return len(lost)

    def _until_lost(self, records: Iterable[Record], replay: Replay) -> Iterator[Record]:
        """The records of a replay; where it passes the offset of an announcement, the announced messages are lost."""
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
        """Messages that are open, each choice for itself."""
        return self._messages.count

    def going_on(self) -> list[tuple[str | None, int]]:
        """Id and choice of those that have not ended; None for the id of a message without a name."""
        return [
            (message.id if message.named else None, choice.index)
            for message in self._messages
            for choice in message.going_on()
        ]

    @property
    def open_streams(self) -> int:
        """Streams of which a codec remembers something."""
        return len(self._intake)

    @property
    def size(self) -> int:
        """About how many bytes the state takes, as of the last `mark`."""
        return size_of([self]) + self._messages.packed_bytes

    @property
    def own_size(self) -> int:
        """The same of what has not ended alone, without the grammars, which partitions share."""
        return self._messages.count * MESSAGE_BYTES + self._messages.held + self._intake.memory

    @property
    def grammars(self) -> Mapping[str, Grammar]:
        """Those of its messages that have not ended, by key."""
        return self._messages.grammars

    def idle(self, now_ms: int, timeout_ms: int) -> list[TimeoutControl]:
        """Records to write to the input topic, one for each message and each stream that got none for `timeout_ms`.

        To be called every few seconds, with any clock that does not go back and always the same `timeout_ms`.
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
        """Such records for each message and each stream that was opened before `offset`, whatever it still gets."""
        if self._low_water.at(self.offset) >= offset:
            return []
        condition = Condition(opened_before=self.offset)
        streams = (kept.timeout(condition) for kept in self._intake if kept.root.offset < offset)
        messages = (timeout_control(message, condition) for message in self._messages if message.opened < offset)
        return [*streams, *messages]

    def longest_idle(self, count: int) -> list[TimeoutControl]:
        """Such records for the `count` messages and streams whose last record is the oldest: when memory runs short."""
        known: list[Message | Kept] = [*self._intake, *self._messages]
        longest = nsmallest(count, (each for each in known if each.going_on()), key=lambda each: each.last)
        return [each.timeout() if isinstance(each, Kept) else timeout_control(each) for each in longest]

    # Snapshots

    def changes(self, *, full: bool) -> SnapshotWrite:
        """The state at `offset`, or what changed of it since the last call; the first call gives the whole in any case.

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
        """The partition as it was, from a snapshot's meta and fields, for a replay up to `mark`; in steps of some
        milliseconds, for whoever has something else to do meanwhile.

        Raises `SnapshotError` if that can't be had: the bytes can't be read, or the snapshot is from after the mark, or
        from before something that was announced as lost because there was no snapshot.
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
