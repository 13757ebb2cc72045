"""The interface of codecs: the first step of the flow, from a record's bytes to chunks."""

from collections.abc import Sequence
from typing import Protocol

from tokenmill.codecs.chunk import Chunk
from tokenmill.records import InputRecord, Record


class Codec(Protocol):
    """Turns input records into chunks. A codec is pure: equal states and records give equal results.

    A new codec is one file with an object of this shape and one line in the list of this package. If its records may be
    any bytes of a stream, it has `cut_anywhere = True`; otherwise a record is a whole event.
    """

    @property
    def name(self) -> str:
        """Name in the configuration and in the header `tm-codec`."""

    @property
    def summary(self) -> str:
        """One sentence for `tokenmill codecs` and the reference."""

    @property
    def sample(self) -> Sequence[InputRecord]:
        """Records of one short message, for the same places."""

    def decode(self, state: bytes, record: Record) -> tuple[bytes, Sequence[Chunk]]:
        """The state to keep until the next record of the same key and stream, and the chunks of this one.

        The state is b"" if nothing has to be kept. Raises `RecordError` for a record that can't be used.
        """
