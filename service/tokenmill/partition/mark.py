"""`Mark`: how a commit describes the state at its offset, in the offset's metadata string."""

import msgspec

from tokenmill.partition.log_id import UNKNOWN_EPOCH, UNKNOWN_LOG, LogId
from tokenmill.partition.missing import NONE_MISSING, Missing


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """Enough to rebuild the state from the log, and to notice if that went wrong."""

    offset: int
    """The committed offset: all records below it are done."""
    low_water: int
    """A replay from here to `offset`, starting with nothing, gives the same state."""
    fingerprint: str
    """`PartitionSettings.fingerprint()` of the writer."""
    count: int = 0
    """Number of open and lost messages; each choice counts."""
    digest: int = 0
    """Hash of these messages and of each one's progress."""
    unseen_until: int = 0
    """Messages first seen below this offset without their opening were already announced as lost."""
    foreign_until: int = 0
    """Messages opened below this offset were opened under another configuration: a replay can't rebuild them."""
    announced: tuple[tuple[int, int], ...] = ()
    """Spans (from, until): such messages opened in one were already announced as lost, when `until` was done."""
    skipped: tuple[tuple[int, int], ...] = ()
    """Spans (from, until) of records that were never processed: messages with events there were announced as lost."""
    missing: Missing = NONE_MISSING
    """Open messages that `count` does not include, because none of their records was read."""
    log: LogId = UNKNOWN_LOG
    """The log that the offsets belong to."""
    epoch: int = UNKNOWN_EPOCH
    """Epoch of the leader that wrote the last record below `offset`; an older leader may lack that record."""

    def encode(self) -> str:
        """The metadata string: a few numbers, far below `COMMIT_METADATA_BYTES`."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def decode(cls, text: str | None) -> "Mark | None":
        """The mark in a metadata string; None if it has none, as after a commit by hand or by another program."""
        try:
            return _decoder.decode(text or "")
        except (msgspec.DecodeError, RecursionError):
            return None


_decoder: msgspec.json.Decoder[Mark] = msgspec.json.Decoder(Mark)
