"""The gateway's counters: two additions for a frame and all of its clients, everything else once per request.

How long events take is not measured frame by frame either. The timestamps of the records that clients wait for are
noted, and the flush that follows puts all of them into the histogram at once.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Self

import msgspec

from tokenmill.gateway.problems import Kind
from tokenmill.observe import GATEWAY_METRICS, Numbers
from tokenmill.observe.gateway_table import Outcome

_Readings = Iterator[tuple[tuple[str, ...], float]]


class SentTotals(msgspec.Struct):
    """Totals of what was sent to clients of one dialect and one transport."""

    frames: int = 0
    size: int = 0

    def add(self, frames: int, size: int, clients: int = 1) -> None:
        """Add frames of `size` bytes in all, sent to each of some clients."""
        self.frames += frames * clients
        self.size += size * clients


class CountedStream:
    """Counts a stream as open as long as its block lasts, and then how it ended; by default its client left."""

    __slots__ = ("_counts", "_transport", "outcome")

    def __init__(self, counts: "Counts", transport: str) -> None:
        self._counts = counts
        self._transport = transport
        self.outcome: Outcome = "closed"

    def __enter__(self) -> Self:
        self._counts.opened(self._transport, 1)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._counts.opened(self._transport, -1)
        late = kind is not None and issubclass(kind, TimeoutError)
        self._counts.ended("slow" if late else self.outcome)


class Counts:
    """Counts everything that happens in a process, for the metrics. Without `numbers` nothing reads them."""

    def __init__(self, numbers: Numbers | None = None) -> None:
        self.numbers = numbers or Numbers(GATEWAY_METRICS)
        self._sent: dict[tuple[str, str], SentTotals] = {}
        self._open: Counter[str] = Counter()
        self._delivery = self.numbers.histograms["tokenmill_gateway_delivery_latency_seconds"]
        self._first_byte = self.numbers.histograms["tokenmill_gateway_first_byte_seconds"]
        self._catch_up = self.numbers.histograms["tokenmill_gateway_catch_up_seconds"]
        self.numbers.read("tokenmill_gateway_connections", self._connections)
        self.numbers.read("tokenmill_gateway_frames_sent_total", lambda: self._of_sent("frames"))
        self.numbers.read("tokenmill_gateway_bytes_sent_total", lambda: self._of_sent("size"))

    def _connections(self) -> _Readings:
        return (((transport,), count) for transport, count in self._open.items())

    def _of_sent(self, what: str) -> _Readings:
        return ((labels, getattr(sent, what)) for labels, sent in self._sent.items())

    @property
    def connections(self) -> int:
        """Number of open streams."""
        return self._open.total()

    def sent(self, dialect: str, transport: str) -> SentTotals:
        """Return the totals of this dialect and transport, to be added to."""
        return self._sent.setdefault((dialect, transport), SentTotals())

    def delivered(self, timestamps: list[int], now_ms: float) -> None:
        """Observe records handed to sockets, or waiting for slow ones; times are milliseconds since the epoch."""
        self._delivery.observe_since(timestamps, now_ms)

    def attending(self, transport: str) -> CountedStream:
        """Count a stream for as long as the block lasts."""
        return CountedStream(self, transport)

    def opened(self, transport: str, more: int) -> None:
        """Add to the open streams."""
        self._open[transport] += more

    def ended(self, reason: Outcome) -> None:
        """Count a stream that ended, or that went back to an earlier place."""
        self.numbers.add("tokenmill_gateway_streams_ended_total", reason)

    def resumed(self, source: str) -> None:
        """Count a client that came back, and continued from one of `RESUME_SOURCES`."""
        self.numbers.add("tokenmill_gateway_resumes_total", source)

    def first_byte(self, seconds: float) -> None:
        """Observe the time from a request until its first byte."""
        self._first_byte.observe(seconds)

    def caught_up(self, seconds: float) -> None:
        """Observe the seconds that a catch-up to the log's head took."""
        self._catch_up.observe(seconds)

    def refused(self, kind: Kind) -> None:
        """Count a request that was answered with a problem."""
        self.numbers.add("tokenmill_gateway_refusals_total", kind.name)

    def wrote(self, kind: str) -> None:
        """Count a client's write that is in the log; `kind` is one of `WRITES`."""
        self.numbers.add("tokenmill_gateway_writes_total", kind)

    def beat(self, clients: int) -> None:
        """Count clients that were sent a heartbeat."""
        self.numbers.add("tokenmill_gateway_heartbeats_total", by=clients)
