"""What a codec is: the first step of the flow, from a record's bytes to chunks."""

from collections.abc import Sequence
from typing import Protocol

from tokenmill.codecs.chunk import Chunk
from tokenmill.records import InputRecord, Record


class Codec(Protocol):
    """Turns input records into chunks. A codec is pure: equal states and records give equal answers.

    A new codec is one file with an object of this shape and one line in the list of this package. One whose records may
    be any bytes of a stream says so with `cut_anywhere = True`; else a record is a whole event.
    """

    @property
    def name(self) -> str:
        """What the configuration and the header `tm-codec` call it."""

    @property
    def summary(self) -> str:
        """One sentence for `tokenmill codecs` and the reference."""

    @property
    def sample(self) -> Sequence[InputRecord]:
        """Records of one short message, for the same readers."""

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The chunks of a record, and what to remember until the next one of the same key and stream.

        State is b"" where nothing need be remembered. Raises `RecordError` for a record that can't be used.
        """
