"""Frames of a WebSocket: `gateway/websocket/server_frames.py`, read by the parser of `websockets`."""

import json
from typing import get_args

import pytest
from websockets.frames import Frame as Wire
from websockets.frames import Opcode
from websockets.streams import StreamReader

from tokenmill.dialects import find_dialect
from tokenmill.gateway.event_log.position import Position, read_position
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.websocket import server_frames as module
from tokenmill.gateway.websocket.server_frames import ENDINGS, PING, CloseReason, WebSocketFraming, pong, text
from tokenmill.observe.gateway_table import Outcome

OPENAI = find_dialect("openai")

REASON_BYTES = 123
"""A close frame has 125, two of which are the code."""


def parsed(data: bytes) -> list[Wire]:
    """The frames in these bytes, none of them half."""
    reader, frames = StreamReader(), list[Wire]()
    reader.feed_data(data)
    reader.feed_eof()
    while len(reader.buffer):
        parsing = Wire.parse(reader.read_exact, mask=False, max_size=None)
        try:
            while True:
                next(parsing)
        except StopIteration as done:
            frames.append(done.value)
    return frames


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 100_000])
def test_messages_of_every_size_are_one_frame(size: int) -> None:
    """With the length as the standard wants it: the shortest."""
    payload = b"x" * size
    (frame,) = parsed(text(payload))
    assert (frame.opcode, frame.fin, frame.data) == (Opcode.TEXT, True, payload)
    assert len(text(payload)) == size + (2 if size < 126 else 4 if size < 65_536 else 10)


def test_pings_and_pongs() -> None:
    """A pong says what the ping said."""
    assert [(frame.opcode, frame.data) for frame in parsed(PING + pong(b"p" * 125))] == [
        (Opcode.PING, b""),
        (Opcode.PONG, b"p" * 125),
    ]


@pytest.mark.parametrize("conversation", [None, "", 'c"ü'])
@pytest.mark.parametrize("payload", [b'{"a":1}', b"[DONE]"])
def test_a_payload_comes_with_its_id(conversation: str | None, payload: bytes) -> None:
    """And with its conversation, where a socket has several; what is no JSON comes as text."""
    (frame,) = parsed(WebSocketFraming(conversation).frame(OPENAI, 3, Frame(42, 1, 7, payload, b"m")))
    message = json.loads(bytes(frame.data))
    assert message.get("conversation") == conversation
    assert read_position(message["id"]) == Position(3, 42, 1, 7)
    assert message["data"] == ({"a": 1} if payload[:1] == b"{" else "[DONE]")


def test_notices_and_the_opening() -> None:
    """An opening without a place says nothing."""
    messages = WebSocketFraming("c")
    wire = messages.notice("gap", {"to": 1}) + messages.opening(None) + messages.opening(Position(0, 1, 0, 0))
    assert [json.loads(bytes(frame.data)) for frame in parsed(wire + messages.goodbye(5))] == [
        {"conversation": "c", "event": "gap", "data": {"to": 1}},
        {"conversation": "c", "id": str(Position(0, 1, 0, 0))},
        {"conversation": "c", "event": "retry", "data": {"retry_ms": 5}},
    ]


def test_sockets_that_read_the_same_share_frames() -> None:
    """A channel is found by its framing."""
    assert WebSocketFraming("c") == WebSocketFraming("c")
    assert len({WebSocketFraming(), WebSocketFraming(), WebSocketFraming("c"), WebSocketFraming("d")}) == 3
    assert (WebSocketFraming().heartbeat, WebSocketFraming().headers, WebSocketFraming().name) == (b"", {}, "ws")


def test_every_outcome_that_ends_a_socket_has_an_ending() -> None:
    """Only `finished` and `back` do not."""
    (names,) = (get_args(arg) for arg in [Outcome])
    assert set(names) - ENDINGS.keys() == {"finished", "back"}


def test_reasons_fit_their_frame() -> None:
    """Or the library would refuse to close."""
    reasons = [value for value in vars(module).values() if isinstance(value, CloseReason)]
    assert len(reasons) >= len(ENDINGS)
    assert all(len(ending.reason.encode()) <= REASON_BYTES for ending in (*reasons, *ENDINGS.values()))
