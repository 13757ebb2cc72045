"""`Mark`: what a commit says about the state behind it, in the offset's metadata string."""

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
    """Open and lost messages, each choice for itself."""
    digest: int = 0
    """Hash of them and of how far each has come."""
    unseen_until: int = 0
    """Messages first seen below this offset without their opening were already announced as lost."""
    foreign_until: int = 0
    """Messages opened below this offset were opened under another configuration: a replay can't rebuild them."""
    announced: tuple[tuple[int, int], ...] = ()
    """Of those, the ones opened in these spans (from, until) were already announced as lost, when `until` was done."""
    skipped: tuple[tuple[int, int], ...] = ()
    """In these spans (from, until) records were never processed: what made events there was announced as lost."""
    missing: Missing = NONE_MISSING
    """Open messages that are not among `count`, as nothing was read of them."""
    log: LogId = UNKNOWN_LOG
    """Of which the offsets are."""
    epoch: int = UNKNOWN_EPOCH
    """Of the leader that wrote the last record below `offset`: who leads in an older one has not heard of it."""

    def encode(self) -> str:
        """The metadata string: some numbers, far below `COMMIT_METADATA_BYTES`."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def decode(cls, text: str | None) -> "Mark | None":
        """The mark in a metadata string, or None where there is none: a group made by hand, or another program."""
        try:
            return _decoder.decode(text or "")
        except (msgspec.DecodeError, RecursionError):
            return None


_decoder: msgspec.json.Decoder[Mark] = msgspec.json.Decoder(Mark)
