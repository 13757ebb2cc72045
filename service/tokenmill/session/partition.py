"""`Partition`: the open messages of one Kafka partition, in offset order."""

from collections.abc import Iterable, Mapping

from tokenmill.records import Output, Record
from tokenmill.session.idle import TimeoutControl
from tokenmill.session.mark import Mark
from tokenmill.session.settings import SessionSettings
from tokenmill.session.snapshot import SnapshotWrite
from tokenmill.session.tally import Tally


class Partition:
    """State of one input partition: a function of the log below `offset`, and of nothing else."""

    def __init__(self, settings: SessionSettings, topic: str, number: int, offset: int = 0) -> None:
        self.settings = settings
        self.topic = topic
        self.number = number
        self.offset = offset
        """The next offset to process."""
        self.tally = Tally()

    # The hot path

    def process(self, records: Iterable[Record], out: list[Output]) -> None:
        """Apply records in offset order and append what comes out. Records below `offset` are skipped; gaps are normal."""
        raise NotImplementedError

    def drain(self) -> Tally:
        """The counts since the last call."""
        raise NotImplementedError

    # What a commit says

    def mark(self) -> Mark:
        """What the commit of `offset` says of the state. Call it once a commit, with nothing processed in between."""
        raise NotImplementedError

    # Recovery

    def begin_replay(self, mark: Mark, *, lossy: bool) -> None:
        """From here to `mark.offset` records are replayed; the host throws away what comes out.

        `lossy`: the replay should have started at `mark.low_water`, but the topic no longer holds that.
        """
        raise NotImplementedError

    def end_replay(self) -> list[Output]:
        """The replay has reached the mark's offset (or there was nothing to replay): what has to be announced.

        Also sets `offset` to the mark's. Afterwards `mark()` can be compared with what was committed: see `matches`.
        """
        raise NotImplementedError

    # Time and memory

    @property
    def open_messages(self) -> int:
        """Messages that are open, each choice for itself."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """About how many bytes the state takes, as of the last `mark`."""
        raise NotImplementedError

    def idle(self, now_ms: int, timeout_ms: int) -> list[TimeoutControl]:
        """Records to write to the input topic, one for each message that got no chunk for `timeout_ms`.

        Call it every few seconds with any clock that does not go back.
        """
        raise NotImplementedError

    def longest_idle(self, count: int) -> list[TimeoutControl]:
        """Such records for the `count` messages whose last chunk is the oldest: when memory runs short."""
        raise NotImplementedError

    # Snapshots

    def changes(self, *, full: bool) -> SnapshotWrite:
        """The state at `offset`, or what changed of it since the last call.

        A write that was not acknowledged must be followed by a full one.
        """
        raise NotImplementedError

    @classmethod
    def restore(
        cls, settings: SessionSettings, topic: str, number: int, meta: bytes, fields: Mapping[bytes, bytes]
    ) -> "Partition":
        """The partition as it was. Raises `SnapshotError` if that can't be had from these bytes."""
        raise NotImplementedError
