"""How frames look on a connection: server-sent events, lines of JSON, messages of a WebSocket.

1. A payload is one line, whatever it holds (see `dialects.server_sent`).
2. Only frames of events have an id. Heartbeats and notices move no client's place.
3. Some clients take every blank line after an id for an event, and fail on its empty data (`openai` 3.54). So comments
   and `retry` are lines without one, which all readers take.
4. Before a connection is cut, clients that can read it are told when to come back; others only see the reset.
"""

import random
from collections.abc import Mapping
from typing import Protocol

import msgspec
from multidict import istr

from tokenmill.dialects import Dialect
from tokenmill.dialects.server_sent import on_one_line, server_sent
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.view import Frame

CONTENT_TYPE = istr("content-type")

STREAM_HEADERS: dict[str, str] = {
    istr("cache-control"): "no-cache, no-transform",  # a proxy that compresses would buffer
    istr("x-accel-buffering"): "no",  # otherwise nginx buffers
    istr("x-content-type-options"): "nosniff",
}
"""Headers of every answer that is a stream. Names are `istr`: each answer would copy plain strings, twice."""


RETRY_MS = (500, 5_000)
"""Bounds, in milliseconds, of the random pause before a client comes back: EventSources have no jitter of their own, so
all clients of a process that ends would come at once."""


def drawn_retry_ms() -> int:
    """Return one client's random pause, in milliseconds."""
    return random.randint(*RETRY_MS)  # noqa: S311 -- spreads clients, keeps no secret


class Framing(Protocol):
    """One way to write frames."""

    @property
    def name(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the answer."""

    @property
    def heartbeat(self) -> bytes:
        """Bytes without a meaning, which keep proxies from taking the connection for dead."""

    def frame(self, dialect: Dialect, partition: int, frame: Frame) -> bytes:
        """Return a payload with its id; only the id if the frame has no payload."""

    def notice(self, name: str, fields: Mapping[str, object]) -> bytes:
        """Return a message of the gateway's own: `gap`, `error`."""

    def opening(self, position: Position | None) -> bytes:
        """Return the first bytes: the client's place, in case it is cut off before its first frame."""

    def pause(self, retry_ms: int) -> bytes:
        """Return the bytes before the opening: the pause after a lost connection, as not all clients have their own."""

    def goodbye(self, retry_ms: int) -> bytes:
        """Return the bytes before the connection is reset: when to come back."""


class ServerSentEvents:
    """`text/event-stream`, as the HTML standard reads it; line ends are LF, which all readers take."""

    name = "sse"
    headers: Mapping[str, str] = {CONTENT_TYPE: "text/event-stream; charset=utf-8"} | STREAM_HEADERS
    heartbeat = b": hb\n"

    def frame(self, dialect: Dialect, partition: int, frame: Frame) -> bytes:
        """Return `id`, the event's name if the dialect's clients look for one, and the payload as `data`."""
        position = frame.id(partition)
        if not frame.payload:
            return self.opening(position)
        return b"id: %b\n%b" % (str(position).encode(), server_sent(frame.payload, dialect))

    def notice(self, name: str, fields: Mapping[str, object]) -> bytes:
        """Return an event of this name, which `onmessage` does not see."""
        return b"event: %b\ndata: %b\n\n" % (name.encode(), msgspec.json.encode(fields))

    def opening(self, position: Position | None) -> bytes:
        """Return a block without data, which moves the client's id, and is not an event to it."""
        return b": open\n" if position is None else b"id: %b\n\n" % str(position).encode()

    def pause(self, retry_ms: int) -> bytes:
        """Return the only field about time that an EventSource reads; without it all wait three seconds."""
        return b"retry: %d\n" % retry_ms

    def goodbye(self, retry_ms: int) -> bytes:
        """Return the same field."""
        return self.pause(retry_ms)


class JsonLines:
    """`application/x-ndjson`: an object a line, `{"id": …, "data": …}`; `data` is the payload."""

    name = "ndjson"
    headers: Mapping[str, str] = {CONTENT_TYPE: "application/x-ndjson; charset=utf-8"} | STREAM_HEADERS
    heartbeat = b"\n"

    def frame(self, dialect: Dialect, partition: int, frame: Frame) -> bytes:  # noqa: ARG002 -- looks alike in all
        """Return the payload as it is, if it is JSON; else as a string."""
        position = frame.id(partition)
        if not frame.payload:
            return self.opening(position)
        return b'{"id":"%b","data":%b}\n' % (str(position).encode(), as_json(frame.payload))

    def notice(self, name: str, fields: Mapping[str, object]) -> bytes:
        """Return `{"event": name, "data": …}`."""
        return msgspec.json.encode({"event": name, "data": fields}) + b"\n"

    def opening(self, position: Position | None) -> bytes:
        """Return a line with only an id."""
        return b"\n" if position is None else msgspec.json.encode({"id": str(position)}) + b"\n"

    def pause(self, retry_ms: int) -> bytes:  # noqa: ARG002 -- looks alike in all
        """Return nothing."""
        return b""

    def goodbye(self, retry_ms: int) -> bytes:
        """Return a notice."""
        return self.notice("retry", {"retry_ms": retry_ms})


def as_json(payload: bytes) -> bytes:
    """Return a payload as a JSON value on one line."""
    return on_one_line(payload) if payload[:1] == b"{" else msgspec.json.encode(payload.decode(errors="replace"))


SSE = ServerSentEvents()
LINES = JsonLines()
