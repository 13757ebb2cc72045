"""From a record to its chunks: key, size, codec, and the state that a codec keeps between records."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET

from tokenmill.codecs import Chunk, Codec, find_codec
from tokenmill.codecs.message_id import MESSAGE_ID
from tokenmill.codecs.native import NATIVE
from tokenmill.errors import BadKey, RecordError, TooLarge, Undecodable
from tokenmill.limits import KEY_BYTES
from tokenmill.partition.defects import defect
from tokenmill.partition.idle import CODEC, STREAM, Condition, Place, TimeoutControl, condition_of, stream_end
from tokenmill.partition.low_water import LowWater, Root
from tokenmill.partition.tally import Tally
from tokenmill.records import Headers, Record, header

STREAM_BYTES = 1024
"""About what an open stream takes beside what its codec remembers."""

SPARE = 1.25
"""Bytes that are taken for each that a codec remembers: the encoder leaves up to half as many unused behind them."""


class Kept:
    """A stream that has not ended: what its codec remembers, and from where the log must be read to have it again."""

    __slots__ = ("last", "message_id", "place", "root", "state", "watched")

    def __init__(self, place: Place, state: bytes, root: Root, last: int, message_id: bytes) -> None:
        self.place = place
        self.state = state
        """Empty once it has ended."""
        self.root = root
        self.last = last
        """Offset of its last record."""
        self.message_id = message_id
        """The header `tm-message-id` of that record; empty if it has none."""
        self.watched = False
        """Looked at from time to time, whether records still come."""

    def going_on(self) -> bool:
        """Whether it has not ended."""
        return bool(self.state)

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return STREAM_BYTES + int(len(self.state) * SPARE)

    def timeout(self, condition: Condition | None = None) -> TimeoutControl:
        """The record that ends it, under a condition; if none is given, if no other comes before."""
        return stream_end(self.place, self.message_id, condition or Condition(last=self.last))


class Intake:
    """Reads the records of one partition."""

    def __init__(self, codec: str, record_bytes: int, low_water: LowWater, tally: Tally) -> None:
        self._codec = find_codec(codec)
        self._record_bytes = record_bytes
        self.plain = False
        """Records without headers are native chunks, and no codec remembers anything."""
        self._low_water = low_water
        self._kept: dict[Place, Kept] = {}
        self._of_key: dict[bytes, list[Kept]] = {}
        self._begun: list[Kept] | None = None
        self.memory = 0
        """About how many bytes the streams take: a sum that is kept, for there may be a hundred thousand."""
        self.tally = tally
        self.noting = False
        """There is a snapshot, so it is of use to know what has changed since."""
        self.changed: dict[Place, None] = {}
        """Places of which the state changed since the last snapshot, in that order."""
        self._set_plain()

    def read(self, record: Record) -> tuple[Sequence[Chunk], Root | None]:
        """The record's chunks, and the root of what its codec remembered before. Raises `RecordError`."""
        key, value, headers = record.key, record.value, record.headers
        if not key:
            raise BadKey("the record has no key; it must be the conversation id")
        if len(key) > KEY_BYTES:
            raise BadKey(f"the key has {len(key)} bytes; at most {KEY_BYTES} are allowed")
        if value is not None and len(value) > self._record_bytes:
            raise TooLarge(f"the value has {len(value)} bytes; at most {self._record_bytes} are allowed")
        codec, stream = self._addressed(headers) if headers else (self._codec, b"")
        kept = self._kept.get((codec.name, key, stream)) if self._kept else None
        condition = condition_of(record) if headers and value is None and codec is not NATIVE else None
        if condition is not None and (kept is None or not condition.holds_of_stream(kept.root.offset, kept.last)):
            self.tally.dropped["stale-timeout" if kept else "no-message"] += 1
            return (), None
        if condition is not None and kept is not None:
            state: bytes = b""
            chunks: Sequence[Chunk] = _last_chunks(codec, kept, record)
            if condition.opened_before is not None:  # a replay that has not seen the stream would drop it
                self._low_water.forbid(kept.root.offset, record.offset)
        else:
            state, chunks = _decoded(codec, kept.state if kept else b"", record)
        self.tally.chunks[codec.name] += len(chunks)
        if kept and state and any(chunk.error is not None for chunk in chunks):
            self._low_water.forbid(kept.root.offset, record.offset)  # from its middle it might look sound
        if state or kept:
            self._keep((codec.name, key, stream), kept, state, record)
        return chunks, kept.root if kept else None

    def oldest(self, key: bytes) -> Root | None:
        """From where the log must be read to have all open streams of a key.

        What opens while a stream is open depends on it: a replay that began in its middle could take its records for
        those of another message.
        """
        roots = [kept.root for kept in self._of_key.get(key, ())] if self._of_key else []
        return min(roots, key=lambda root: root.offset, default=None)

    def _addressed(self, headers: Headers) -> tuple[Codec, bytes]:
        name, stream = header(headers, CODEC), header(headers, STREAM) or b""
        if len(stream) > KEY_BYTES:
            raise Undecodable(f"the header {STREAM} has {len(stream)} bytes; at most {KEY_BYTES} are allowed")
        return find_codec(name.decode(errors="replace")) if name is not None else self._codec, stream

    def _keep(self, place: Place, kept: Kept | None, state: bytes, record: Record) -> None:
        if self.noting:
            self.changed[place] = None
        if kept is None:
            kept = Kept(place, state, self._low_water.root(record.offset), record.offset, b"")
            self.put(kept)
        self.memory -= kept.memory
        kept.state, kept.last = state, record.offset
        self.memory += kept.memory
        kept.message_id = header(record.headers, MESSAGE_ID) or b""
        if not state:
            self._forget(kept)

    def drop(self) -> int:
        """Forget all streams, as records of theirs are missing; answers of how many the rest looks like another
        message, as only what is forgotten says of which it is.
        """
        streams = list(self._kept.values())
        for kept in streams:
            if self.noting:
                self.changed[kept.place] = None
            self._forget(kept)
            kept.state = b""
        names = Counter(kept.place[0] for kept in streams)
        return sum(count for name, count in names.items() if not names_each(name))

    def _forget(self, kept: Kept) -> None:
        del self._kept[kept.place]
        self.memory -= kept.memory
        others = self._of_key[kept.place[1]]
        others.remove(kept)
        if not others:
            del self._of_key[kept.place[1]]
        self._low_water.release(kept.root)
        self._set_plain()

    def _set_plain(self) -> None:
        self.plain = self._codec is NATIVE and not self._kept

    def begun(self) -> Sequence[Kept]:
        """The streams that have begun since the last call; at the first all."""
        begun = list(self._kept.values()) if self._begun is None else self._begun
        self._begun = []
        return begun

    # Snapshots

    def get(self, place: Place) -> Kept | None:
        """What is remembered there."""
        return self._kept.get(place)

    def put(self, kept: Kept) -> None:
        """Remember this, also what a snapshot holds."""
        self._kept[kept.place] = kept
        self.memory += kept.memory
        self._of_key.setdefault(kept.place[1], []).append(kept)
        self._low_water.hold(kept.root)
        if self._begun is not None:
            self._begun.append(kept)
        self._set_plain()

    def __iter__(self) -> Iterator[Kept]:
        return iter(self._kept.values())

    def __len__(self) -> int:
        return len(self._kept)


def names_each(name: str) -> bool:
    """Whether each record of a codec says of which message it is: those of its sample do when they are read alone."""
    state = b""
    try:
        codec = find_codec(name)
        for record in codec.sample:
            alone = {chunk.message_id for chunk in _decoded(codec, b"", record)[1]}
            state, chunks = _decoded(codec, state, record)
            if not alone <= {chunk.message_id for chunk in chunks}:
                return False
    except RecordError:  # it takes what came before to read it, or nobody has the codec any more
        return False
    return True


def _decoded(codec: Codec, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
    """What the codec makes of a record. Raises `RecordError`.

    No record may end the process, as it would end each that follows: a codec that goes deeper into a value than the
    stack bears has not read it, and one that fails has not either.
    """
    try:
        return codec.decode(state, record)
    except RecordError:
        raise
    except RecursionError as problem:
        raise Undecodable(f"the value is nested too deep for the codec {codec.name}: {problem}") from problem
    except Exception as problem:
        raise defect(problem) from problem


def _last_chunks(codec: Codec, kept: Kept, record: Record) -> list[Chunk]:
    """Of a stream that is ended by a timeout: what its codec makes of the end. Half an event is no failure then."""
    try:
        _, chunks = _decoded(codec, kept.state, record)
    except RecordError:  # a codec without a word for the end, or headers that are wrong: it is over all the same
        return []
    return [_timed_out(chunk) for chunk in chunks if chunk.error is None]


def _timed_out(chunk: Chunk) -> Chunk:
    """The end of a message because its stream is idle, unless the stream itself says why it is over."""
    if chunk.end is not True or chunk.finish_reason is not None or chunk.usage is not None:
        return chunk
    return msgspec.structs.replace(chunk, end=UNSET, control="timeout")
