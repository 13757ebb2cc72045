"""What the dialect `segments` remembers of a message, and its payloads."""

from typing import Any

import msgspec

from tokenmill.dialects.dialect import Envelope, Payloads
from tokenmill.dialects.json_text import json_bytes, pieces


class CallSegment(msgspec.Struct, array_like=True, gc=False):
    """The segment of a call that has not ended."""

    id: str
    kind: str
    name: str
    """Of the tool."""
    metadata: dict[str, Any]
    provider: bool = False
    shown: bool = False
    """Its start was sent."""
    waits: bool = False
    """Its start waits for the path."""
    path: str = ""
    waiting: list[str] = []
    """Content in front of the path: at most that of a call."""
    sent: bool = False
    """Some of its content is sent, or waits."""
    arguments: dict[str, Any] | None = None
    """Of a provider's call that is complete and waits for the end."""


class SegmentsState(msgspec.Struct, array_like=True, gc=False):
    """What was begun and not ended."""

    started: int = 0
    """Segments so far."""
    text: str = ""
    """Id of the open text; empty if there is none."""
    reasoning: str = ""
    calls: dict[str, CallSegment] = {}
    """By the call's id, in order of their beginnings."""
    failed: str = ""
    """Id of a failed call of which something was shown."""
    hidden: bool = False
    """The open text block repeats that call."""
    nameless: bool = False
    """The open text block is the source of a call that never had an id."""
    source: str = ""
    """Id of that block's segment, if it is one of its own."""


def start(state: SegmentsState, segment: str, kind: str, metadata: dict[str, Any], out: Payloads) -> None:
    """A segment begins."""
    state.started += 1
    payload = {"metadata": metadata} if metadata else {}
    out.append(json_bytes({"type": "SEGMENT_START", "segment_id": segment, "segment_type": kind, "payload": payload}))


def content(segment: str, text: str, out: Payloads) -> None:
    """More of a segment; nothing if the text is empty."""
    for piece in pieces(text):
        out.append(json_bytes({"type": "SEGMENT_CONTENT", "segment_id": segment, "payload": {"delta": piece}}))


def end(envelope: Envelope, segment: str, metadata: dict[str, Any], out: Payloads) -> None:
    """A segment ends; its metadata is said again where the message asks for it."""
    payload = {"metadata": metadata} if metadata and envelope.request.segment_end_metadata else {}
    out.append(json_bytes({"type": "SEGMENT_END", "segment_id": segment, "payload": payload}))


def begin(state: SegmentsState, envelope: Envelope, kind: str, metadata: dict[str, Any], out: Payloads) -> str:
    """A segment that is no call starts: its id."""
    segment = f"{envelope.request.id_prefix}seg_{state.started + 1}"
    start(state, segment, kind, metadata, out)
    return segment
