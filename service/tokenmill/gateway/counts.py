"""What the gateway counts: two additions for a frame and all of its clients, everything else once for a request.

How long events take is not measured frame by frame either. The timestamps of the records that somebody waits for
are noted, and the flush that follows puts all of them into the histogram at once.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Self

import msgspec

from tokenmill.gateway.problems import Kind
from tokenmill.observe import GATEWAY_METRICS, Numbers

_Readings = Iterator[tuple[tuple[str, ...], float]]


class SentTotals(msgspec.Struct):
    """What clients of one dialect and one transport were sent."""

    frames: int = 0
    size: int = 0

    def add(self, frames: int, size: int, clients: int = 1) -> None:
        """The same frames, of so many bytes together, to each of some clients."""
        self.frames += frames * clients
        self.size += size * clients


class CountedStream:
    """Counts a stream as open as long as its block lasts, and then how it ended.

    Who says nothing of its end was left by the client.
    """

    __slots__ = ("_counts", "_transport", "outcome")

    def __init__(self, counts: "Counts", transport: str) -> None:
        self._counts = counts
        self._transport = transport
        self.outcome = "closed"
        """One of `ENDINGS`."""

    def __enter__(self) -> Self:
        self._counts.opened(self._transport, 1)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._counts.opened(self._transport, -1)
        late = kind is not None and issubclass(kind, TimeoutError)
        self._counts.ended("slow" if late else self.outcome)


class Counts:
    """Counts everything that happens in a process, for the metrics. Without `numbers` nobody asks for them."""

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
        """Streams that are open."""
        return self._open.total()

    def sent(self, dialect: str, transport: str) -> SentTotals:
        """Where to add up what is written in this dialect on this transport."""
        return self._sent.setdefault((dialect, transport), SentTotals())

    def delivered(self, timestamps: list[int], now_ms: float) -> None:
        """Records that clients waited for are on their sockets, or they are behind; in milliseconds since the epoch."""
        self._delivery.observe_since(timestamps, now_ms)

    def attending(self, transport: str) -> CountedStream:
        """A stream, for as long as the block lasts."""
        return CountedStream(self, transport)

    def opened(self, transport: str, more: int) -> None:
        """So many streams more."""
        self._open[transport] += more

    def ended(self, reason: str) -> None:
        """A stream is over, or went back."""
        self.numbers.add("tokenmill_gateway_streams_ended_total", reason)

    def resumed(self, source: str) -> None:
        """A client came back, and went on from one of `RESUME_SOURCES`."""
        self.numbers.add("tokenmill_gateway_resumes_total", source)

    def first_byte(self, seconds: float) -> None:
        """From the request until the headers were written."""
        self._first_byte.observe(seconds)

    def caught_up(self, seconds: float) -> None:
        """For the way to the log's head."""
        self._catch_up.observe(seconds)

    def refused(self, kind: Kind) -> None:
        """A request was answered with a problem."""
        self.numbers.add("tokenmill_gateway_refusals_total", kind.name)

    def wrote(self, kind: str) -> None:
        """What a client wrote is in the log; one of `WRITES`."""
        self.numbers.add("tokenmill_gateway_writes_total", kind)

    def beat(self, clients: int) -> None:
        """So many were sent a heartbeat."""
        self.numbers.add("tokenmill_gateway_heartbeats_total", by=clients)
