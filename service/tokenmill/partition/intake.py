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
"""Bytes that an open stream takes, roughly, besides its codec's state."""

SPARE = 1.25
"""Bytes of memory per byte of a codec's state: the encoder leaves up to half as many unused after it."""


class Kept:
    """A stream that has not ended: its codec's state, and from where the log must be read to rebuild it."""

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
        """Whether it is checked from time to time for new records."""

    def going_on(self) -> bool:
        """Whether it has not ended."""
        return bool(self.state)

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return STREAM_BYTES + int(len(self.state) * SPARE)

    def timeout(self, condition: Condition | None = None) -> TimeoutControl:
        """The record that ends it if the condition holds; by default, if no other record comes before it."""
        return stream_end(self.place, self.message_id, condition or Condition(last=self.last))


class Intake:
    """Reads the records of one partition."""

    def __init__(self, codec: str, record_bytes: int, low_water: LowWater, tally: Tally) -> None:
        self._codec = find_codec(codec)
        self._record_bytes = record_bytes
        self.plain = False
        """Whether records without headers are native chunks, and no codec has any state."""
        self._low_water = low_water
        self._kept: dict[Place, Kept] = {}
        self._of_key: dict[bytes, list[Kept]] = {}
        self._begun: list[Kept] | None = None
        self.memory = 0
        """About how many bytes the streams take: a running sum, because there may be a hundred thousand."""
        self.tally = tally
        self.noting = False
        """Whether changes are noted, because there is a snapshot that they build on."""
        self.changed: dict[Place, None] = {}
        """Places whose state changed since the last snapshot, in the order of the first change."""
        self._set_plain()

    def read(self, record: Record) -> tuple[Sequence[Chunk], Root | None]:
        """The record's chunks, and the root of its codec's state before it. Raises `RecordError`."""
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
            self._low_water.forbid(kept.root.offset, record.offset)  # a replay from its middle might take it for sound
        if state or kept:
            self._keep((codec.name, key, stream), kept, state, record)
        return chunks, kept.root if kept else None

    def oldest(self, key: bytes) -> Root | None:
        """From where the log must be read to rebuild all open streams of a key.

        A message that opens while a stream is open depends on that stream: a replay that began in its middle could
        take the stream's records for those of another message.
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
        """Forget all streams, because records of theirs are missing; returns how many can no longer be matched to their
        message, which only the forgotten state named.
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
        """The streams that have begun since the last call; the first call returns all."""
        begun = list(self._kept.values()) if self._begun is None else self._begun
        self._begun = []
        return begun

    # Snapshots

    def get(self, place: Place) -> Kept | None:
        """The stream at that place, if there is one."""
        return self._kept.get(place)

    def put(self, kept: Kept) -> None:
        """Add a stream, a new one or one from a snapshot."""
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
    """Whether every record of a codec names its message, judged by reading each of its sample alone."""
    state = b""
    try:
        codec = find_codec(name)
        for record in codec.sample:
            alone = {chunk.message_id for chunk in _decoded(codec, b"", record)[1]}
            state, chunks = _decoded(codec, state, record)
            if not alone <= {chunk.message_id for chunk in chunks}:
                return False
    except RecordError:  # it can't be read without those before it, or the codec no longer exists
        return False
    return True


def _decoded(codec: Codec, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
    """The codec's new state and the record's chunks. Raises `RecordError`.

    No record may end the process, because it would end each later one, too. A codec that fails, or goes deeper into a
    value than the stack allows, has not read the record.
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
    """The last chunks of a stream that a timeout ends. Half an event is not a failure then."""
    try:
        _, chunks = _decoded(codec, kept.state, record)
    except RecordError:  # the codec has no sign for the end, or headers are wrong: it ends all the same
        return []
    return [_timed_out(chunk) for chunk in chunks if chunk.error is None]


def _timed_out(chunk: Chunk) -> Chunk:
    """Turn the end of a message into a timeout, unless the stream itself gives a reason for its end."""
    if chunk.end is not True or chunk.finish_reason is not None or chunk.usage is not None:
        return chunk
    return msgspec.structs.replace(chunk, end=UNSET, control="timeout")
