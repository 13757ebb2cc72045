"""Frames of Durable Streams: an array of JSON values, or server-sent events `data` and `control`.

1. The id of a frame is the offset after it, which the protocol takes as it is: opaque, and in order as text.
2. A payload that is not JSON becomes a string. Each `data` is followed by a `control` with the client's place. Past
   frames come in few of them, live ones in one for each frame.
3. If something is missing because the log no longer has it, a `control` has `tmGap`, an array the header `tm-gap`.
4. `streamClosed` is the only end. A conversation has none, so only a client that asks for `until=finish` gets one.
"""

from collections.abc import Mapping, Sequence

import msgspec

from tokenmill.dialects import Dialect
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.streams.framing import CONTENT_TYPE, STREAM_HEADERS, as_json

NEXT = "stream-next-offset"
UP_TO_DATE = "stream-up-to-date"
CLOSED = "stream-closed"
CURSOR = "stream-cursor"

GAP = "tm-gap"
"""Header for a message whose beginning is gone. It is not part of the protocol, whose logs forget nothing."""

SECURITY = {"x-content-type-options": "nosniff", "cross-origin-resource-policy": "cross-origin"}
"""Headers that keep browsers from running a model's answer as a script; which pages may read it depends on
`origins`."""


def array(frames: Sequence[Frame]) -> bytes:
    """Return the payloads as a JSON array. A frame without a payload only moves the client's place."""
    return b"[%b]" % b",".join(as_json(frame.payload) for frame in frames if frame.payload)


def data(frames: Sequence[Frame]) -> bytes:
    """Return one event with the payloads, which a control has to follow; empty if there are none."""
    return b"event: data\ndata:%b\n\n" % array(frames) if any(frame.payload for frame in frames) else b""


class DurableEvents(msgspec.Struct, frozen=True):
    """Server-sent events of the protocol, to a client that is up to date or not yet."""

    cursor: str
    up_to_date: bool

    @property
    def name(self) -> str:
        """The framing's name in metrics."""
        return "durable"

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the answer."""
        return {CONTENT_TYPE: "text/event-stream"} | STREAM_HEADERS | SECURITY

    @property
    def heartbeat(self) -> bytes:
        """A comment, which clients skip."""
        return b": hb\n\n"

    def frame(self, dialect: Dialect, partition: int, frame: Frame) -> bytes:  # noqa: ARG002 -- looks alike in all
        """Return a payload, and the client's place after it."""
        return data([frame]) + self.control(frame.id(partition))

    def control(self, position: Position, *, closed: bool = False, gap: bool = False) -> bytes:
        """Return the client's place, whether it is the end, and whether something is missing before it."""
        said: dict[str, object] = {"streamClosed": True} if closed else {"streamCursor": self.cursor}
        said |= {"upToDate": True} if self.up_to_date else {}
        return _control(str(position), said | ({"tmGap": True} if gap else {}))

    def notice(self, name: str, fields: Mapping[str, object]) -> bytes:
        """Return a control for a gap, and a comment for anything else, as the protocol has only two events."""
        if name == "gap":
            return _control(fields["to"], {"streamCursor": self.cursor, "tmGap": True})
        return b": %b %b\n\n" % (name.encode(), msgspec.json.encode(fields))

    def opening(self, position: Position | None) -> bytes:  # noqa: ARG002 -- looks alike in all
        """Return nothing: the control after the past has the place."""
        return b""

    def pause(self, retry_ms: int) -> bytes:  # noqa: ARG002 -- looks alike in all
        """Return nothing."""
        return b""

    def goodbye(self, retry_ms: int) -> bytes:
        """Return the pause before the client comes back."""
        return b"retry: %d\n\n" % retry_ms


def _control(place: object, said: Mapping[str, object]) -> bytes:
    return b"event: control\ndata:%b\n\n" % msgspec.json.encode({"streamNextOffset": place, **said})
