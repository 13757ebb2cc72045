"""Requests for events, read and checked before anything is done for them."""

import math
from collections.abc import Mapping
from typing import Protocol

import msgspec

from tokenmill.dialects import Dialect, find_dialect
from tokenmill.errors import ConfigError
from tokenmill.gateway.event_log.position import BadPosition, read_position
from tokenmill.gateway.event_log.reading import Start
from tokenmill.gateway.http.request_values import conversation_id
from tokenmill.gateway.problems import BAD_POSITION, BAD_REQUEST, UNKNOWN_DIALECT, Refused, shown
from tokenmill.gateway.streams.framing import LINES, SSE, Framing

LAST_EVENT_ID = "last-event-id"
"""The header that an EventSource sends when it comes back."""

WORDS: dict[str, Start] = {"now": "now", "start": "start", "message": "message"}
"""Words for places without an id."""


class StreamRequest(msgspec.Struct, frozen=True):
    """The requested events: of which messages, from which place on, and in which form."""

    conversation: str
    dialect: Dialect
    framing: Framing
    start: Start = "now"
    until_finish: bool = False
    message: bytes = b""
    """The only message whose frames are wanted; empty: all."""
    single: bool = False
    """Whether one message is wanted: `message`, or the first that comes."""
    folded: bool = False
    """Whether neighbouring deltas of the past may come as one."""
    waits_until: float = math.inf
    """End of its wait at the log's head, in monotonic seconds. It gets the past at any time."""
    late: bytes = b""
    """Bytes written at the end of that wait, in words of the client's API, before the connection is reset."""
    comes_back: bool = False
    """Whether it sent the id of its last frame, as EventSources do: it can't see a refusal's reason."""
    found: bool = False
    """Whether an earlier reading found the place: the client does not know it."""

    def only(self, message: bytes) -> "StreamRequest":
        """Return the same request for one message, to its end."""
        return msgspec.structs.replace(self, message=message, single=True, until_finish=True)

    @property
    def key(self) -> bytes:
        """The key of the conversation's records."""
        return self.conversation.encode()


class _Request(Protocol):
    """The used part of a request."""

    @property
    def query(self) -> Mapping[str, str]: ...
    @property
    def headers(self) -> Mapping[str, str]: ...


def read_request(request: _Request, conversation: str, *, start: str = "now", replay: str = "exact") -> StreamRequest:
    """Return what the request asks for; `start` and `replay` are the defaults. Raises `Refused`."""
    query, headers = request.query, request.headers
    last = headers.get(LAST_EVENT_ID) or query.get("last_event_id", "")
    if query.get("until", "finish") != "finish":
        raise Refused(BAD_REQUEST, f"until is {shown(query['until'])}; expected finish")
    return StreamRequest(
        conversation=conversation_id(conversation),
        dialect=dialect_of(query.get("dialect", "native")),
        framing=LINES if "application/x-ndjson" in headers.get("accept", "") else SSE,
        start=start_of(last or query.get("from", start), known_words=not last),
        until_finish="until" in query,
        folded=folded_of(query.get("replay", replay)),
        comes_back=bool(last),
    )


def dialect_of(name: str) -> Dialect:
    """Return the dialect of this name. Raises `Refused`."""
    try:
        return find_dialect(name)
    except ConfigError as problem:
        raise Refused(UNKNOWN_DIALECT, f"dialect is {shown(name)}; `tokenmill dialects` lists all") from problem


def folded_of(replay: str) -> bool:
    """Whether the past may be folded. Raises `Refused`."""
    if replay not in ("exact", "folded"):
        raise Refused(BAD_REQUEST, f"replay is {shown(replay)}; expected exact or folded")
    return replay == "folded"


def start_of(text: str, *, known_words: bool = True) -> Start:
    """Return where to begin. Raises `Refused`."""
    if known_words and text in WORDS:
        return WORDS[text]
    try:
        return read_position(text)
    except BadPosition as problem:
        words = "now, start, message or " if known_words else ""
        raise Refused(BAD_POSITION, f"{shown(text)}: expected {words}the id of a frame; {problem}") from problem
