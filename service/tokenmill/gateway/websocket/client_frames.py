"""Frames of a WebSocket's clients: JSON objects, checked before anything is done for them.

1. `type` is the kind of frame; without one it is a `subscribe`, so the first frame of a socket needs none.
2. An unknown field is refused: with a misspelt `last_event_id` a client would lose its place without noticing.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tokenmill.gateway.problems import BAD_REQUEST, Refused, shown
from tokenmill.gateway.streams.stream_request import StreamRequest, read_request
from tokenmill.gateway.websocket.server_frames import WebSocketFraming

FRAME_BYTES = 256 * 1024
"""Bytes of a client's longest frame: results of tools are the largest, and longer ones may be posted."""


class ClientFrame(msgspec.Struct, frozen=True):
    """One frame of a client."""

    type: str
    fields: dict[str, Any]


class Subscribe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"from_": "from"}):
    """A subscription to events of a conversation, with the parameters of the query of `/events`."""

    conversation: str = ""
    authorization: str = ""
    """Value of the header of that name, as browsers can't set headers of a WebSocket."""
    dialect: str | None = None
    from_: str | None = None
    last_event_id: str | None = None
    until: str | None = None
    replay: str | None = None

    def as_request(self, conversation: str, framing: WebSocketFraming) -> StreamRequest:
        """Return the subscription as a request. Raises `Refused`."""
        fields = {
            "dialect": self.dialect,
            "from": self.from_,
            "last_event_id": self.last_event_id,
            "until": self.until,
            "replay": self.replay,
        }
        query = {name: value for name, value in fields.items() if value is not None}
        return msgspec.structs.replace(read_request(_Query(query), conversation), framing=framing)


class _Query(msgspec.Struct, frozen=True):
    """The part of a request that `read_request` uses."""

    query: Mapping[str, str]
    headers: Mapping[str, str] = {}


def read_frame(content: str) -> ClientFrame:
    """Decode a frame. Raises `Refused`."""
    try:
        fields = msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as problem:
        raise Refused(BAD_REQUEST, "a frame must be one JSON object in a text message") from problem
    kind = fields.pop("type", "subscribe")
    if not isinstance(kind, str):
        raise Refused(BAD_REQUEST, f"the type of a frame must be a string, not {shown(str(kind))}")
    return ClientFrame(kind, fields)


def read_subscribe(fields: Mapping[str, Any]) -> Subscribe:
    """Convert the fields of a `subscribe`. Raises `Refused`."""
    try:
        return msgspec.convert(dict(fields), Subscribe)
    except msgspec.ValidationError as problem:
        raise Refused(BAD_REQUEST, f"subscribe: {problem}") from problem


def conversation_in(fields: Mapping[str, Any]) -> str:
    """Return the conversation that a frame names; empty if it names none. Raises `Refused`."""
    conversation = fields.get("conversation", "")
    if not isinstance(conversation, str):
        raise Refused(BAD_REQUEST, "conversation: expected the id of a conversation, as text")
    return conversation
