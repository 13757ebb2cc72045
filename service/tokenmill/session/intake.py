"""From a record to its chunks: key, size, codec, and the state that a codec keeps between records."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from tokenmill.codecs import Chunk, Codec, find_codec
from tokenmill.codecs.native import NATIVE
from tokenmill.errors import BadKey, TooLarge, Undecodable
from tokenmill.limits import KEY_BYTES
from tokenmill.records import Headers, Record, header
from tokenmill.session.low_water import LowWater, Root
from tokenmill.session.tally import Tally

CODEC = "tm-codec"
STREAM = "tm-stream"

Place: TypeAlias = tuple[str, bytes, bytes]
"""Where a codec's state belongs: codec, key, and the header `tm-stream`."""


class Kept(msgspec.Struct, frozen=True):
    """What a codec remembers, and from where the log must be read to have it again."""

    state: bytes
    root: Root


class Intake:
    """Reads the records of one partition."""

    def __init__(self, codec: str, record_bytes: int, low_water: LowWater, tally: Tally) -> None:
        self._codec = find_codec(codec)
        self._record_bytes = record_bytes
        self.plain = False
        """Records without headers are native chunks, and no codec remembers anything."""
        self._low_water = low_water
        self._kept: dict[Place, Kept] = {}
        self.tally = tally
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
        state, chunks = codec.decode(kept.state if kept else b"", record)
        self.tally.chunks[codec.name] += len(chunks)
        if state or kept:
            self._keep((codec.name, key, stream), kept, state, record.offset)
        return chunks, kept.root if kept else None

    def _addressed(self, headers: Headers) -> tuple[Codec, bytes]:
        name, stream = header(headers, CODEC), header(headers, STREAM) or b""
        if len(stream) > KEY_BYTES:
            raise Undecodable(f"the header {STREAM} has {len(stream)} bytes; at most {KEY_BYTES} are allowed")
        return find_codec(name.decode(errors="replace")) if name is not None else self._codec, stream

    def _keep(self, place: Place, kept: Kept | None, state: bytes, offset: int) -> None:
        if kept and state == kept.state:
            return
        self.changed[place] = None
        if state:
            root = kept.root if kept else self._low_water.hold(self._low_water.root(offset))
            self._kept[place] = Kept(state, root)
        else:
            self._low_water.release(self._kept.pop(place).root)
        self._set_plain()

    def _set_plain(self) -> None:
        self.plain = self._codec is NATIVE and not self._kept

    # Snapshots

    def get(self, place: Place) -> Kept | None:
        """What is remembered there."""
        return self._kept.get(place)

    def put(self, place: Place, kept: Kept) -> None:
        """Remember again what a snapshot holds."""
        self._kept[place] = kept
        self._low_water.hold(kept.root)
        self._set_plain()

    def __iter__(self) -> Iterator[tuple[Place, Kept]]:
        return iter(self._kept.items())
