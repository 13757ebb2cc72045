"""A record of the events topic as the gateway keeps it: its headers are read once, its payload when it is needed."""

from collections.abc import Iterable
from zlib import crc32

import msgspec

from tokenmill.records import Record

KEPT_BESIDE = 400
"""Bytes that an entry takes in CPython besides its key and payload: without them a cap of bytes would not hold."""

LATEST = 2**63 - 1
"""The latest time that a broker can be asked for."""

_START = b'{"type":"message-start"'
_FINISH = b'{"type":"finish"'


class Entry(msgspec.Struct, gc=False):
    """One native event where it stands in the log."""

    partition: int
    offset: int
    key: bytes
    value: bytes
    message: bytes = b""
    """The message's id."""
    choice: bytes = b"0"
    seq: int = -1
    """Position among the events of its choice; -1: its message's state was lost."""
    opened: int = -1
    """Time at which its message began, in milliseconds since the epoch; -1: not known."""

    @property
    def size(self) -> int:
        """Approximate number of bytes that it takes in memory."""
        return len(self.key) + len(self.value) + KEPT_BESIDE

    @property
    def starts(self) -> bool:
        """Whether it is the first event of its choice."""
        return self.value.startswith(_START)

    @property
    def mark(self) -> int:
        """A number that identifies the event wherever it is in the log; a repeat has the same number."""
        return crc32(b"%b\n%b\n%d\n%d" % (self.message, self.choice, self.opened, self.seq))

    @property
    def finishes(self) -> bool:
        """Whether it is the last event of its choice."""
        return self.value.startswith(_FINISH)


def entries(partition: int, records: Iterable[Record]) -> list[Entry]:
    """Return the native events among records; others (no key, no value, headers that no worker writes) are skipped."""
    made = (_entry(partition, record, record.key or b"", record.value or b"") for record in records)
    return [entry for entry in made if entry is not None]


def _entry(partition: int, record: Record, key: bytes, value: bytes) -> Entry | None:
    entry = Entry(partition, record.offset, key, value)
    try:
        for name, content in record.headers:
            if name == "tm-seq":
                entry.seq = int(content)
            elif name == "tm-message-id":
                entry.message = content
            elif name == "tm-choice":
                entry.choice = content
            elif name == "tm-opened":
                entry.opened = int(content)
    except (TypeError, ValueError):  # a header may have no value at all
        return None
    return entry if key and value and entry.message and entry.choice and entry.opened <= LATEST else None
