"""Messages that a client is sent on a WebSocket: a text for each frame, `{"id": …, "data": …}`, and the close reason.

1. What a server sends is not masked and, without compression, depends on its content alone. So whole frames are made
   here once for all sockets that read the same, and several go out in one write.
2. Where a socket reads several conversations, each frame names its own.
3. The reason of a close has at most 123 bytes.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from tokenmill.dialects import Dialect
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.streams.framing import as_json
from tokenmill.observe.gateway_table import Outcome

_SHORT = 126
"""Smaller sizes fit in one byte; this value means that two bytes follow, the next one eight."""

_TEXT, _PING, _PONG = 0x81, 0x89, 0x8A
"""First bytes of unfragmented frames."""

PING = bytes([_PING, 0])


def text(payload: bytes) -> bytes:
    """Return a text message in one frame."""
    return _head(_TEXT, len(payload)) + payload


def pong(payload: bytes) -> bytes:
    """Return the answer to a ping; its payload has at most 125 bytes."""
    return _head(_PONG, len(payload)) + payload


def _head(first: int, size: int) -> bytes:
    if size < _SHORT:
        return bytes([first, size])
    if size < 1 << 16:
        return bytes([first, _SHORT]) + size.to_bytes(2, "big")
    return bytes([first, _SHORT + 1]) + size.to_bytes(8, "big")


class WebSocketFraming(msgspec.Struct, frozen=True):
    """Text messages of a WebSocket; they name this conversation where the socket has several."""

    conversation: str | None = None

    @property
    def name(self) -> str:
        """The framing's name in metrics."""
        return "ws"

    @property
    def headers(self) -> Mapping[str, str]:
        """No headers: the handshake has its own."""
        return {}

    @property
    def heartbeat(self) -> bytes:
        """No bytes: the socket is pinged, however many conversations it reads."""
        return b""

    def frame(self, dialect: Dialect, partition: int, frame: Frame) -> bytes:  # noqa: ARG002 -- looks alike in all
        """Return a payload with its id: one that is not JSON as a string, and only the id if it is empty."""
        if not frame.payload:
            return self.opening(frame.id(partition))
        position = str(frame.id(partition)).encode()
        return text(b'{%b"id":"%b","data":%b}' % (self._of(), position, as_json(frame.payload)))

    def notice(self, name: str, fields: Mapping[str, object]) -> bytes:
        """Return `{"event": name, "data": …}`."""
        return text(b'{%b"event":"%b","data":%b}' % (self._of(), name.encode(), msgspec.json.encode(fields)))

    def opening(self, position: Position | None) -> bytes:
        """Return a message with only an id: the client's place."""
        return b"" if position is None else text(b'{%b"id":"%b"}' % (self._of(), str(position).encode()))

    def pause(self, retry_ms: int) -> bytes:  # noqa: ARG002 -- looks alike in all
        """Return nothing."""
        return b""

    def goodbye(self, retry_ms: int) -> bytes:
        """Return the message before the close frame: when to come back."""
        return self.notice("retry", {"retry_ms": retry_ms})

    def _of(self) -> bytes:
        if self.conversation is None:
            return b""
        return b'"conversation":%b,' % msgspec.json.encode(self.conversation)


class CloseReason(NamedTuple):
    """Code and reason with which a socket is closed."""

    code: int
    reason: str


FINISHED = CloseReason(1000, "finished")
SHUTDOWN = CloseReason(1001, "the gateway ends; come back with the id of the last frame")
SLOW = CloseReason(1013, "too slow; come back with the id of the last frame")
LATER = CloseReason(1013, "try again later")
SILENT = CloseReason(1013, "pings were not answered")
NOT_ALLOWED = CloseReason(1008, "not allowed")
LEFT = CloseReason(1000, "")
FAILED = CloseReason(1011, "an error of the gateway's own; it is in its log")

ENDINGS: Mapping[Outcome, CloseReason] = {
    "drained": SHUTDOWN,
    "slow": SLOW,
    "expired": CloseReason(1008, "the rights have ended; come back with new ones"),
    "lost": LATER,
    "moved": CloseReason(1012, "the topic has grown; come back with the id of the last frame"),
    "closed": LEFT,
}
"""Reasons by the outcome of a stream of the socket."""
