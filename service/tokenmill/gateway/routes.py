"""Every route of the gateway as data: the reference page and the OpenAPI document are made of these rows.

A route that is served is a row here, and every row is served: `tests/gateway/test_routes.py` compares both.
"""

from typing import Any, Literal, TypeAlias

import msgspec

from tokenmill.dialects import DIALECTS
from tokenmill.gateway import problems as p
from tokenmill.gateway.ticket_posts import TicketAsked, TicketMade

Place: TypeAlias = Literal["path", "query", "header"]
Right: TypeAlias = Literal["read", "stop", "write"]


class Parameter(msgspec.Struct, frozen=True):
    """Something that a request says beside its body."""

    name: str
    place: Place
    text: str
    kind: Any = str
    """A type that msgspec has a schema for."""


class Answer(msgspec.Struct, frozen=True):
    """An answer that is no problem."""

    status: int
    text: str
    media: tuple[str, ...] = ()
    body: Any = None
    """The type of a body that is JSON; None: it is a stream, or empty."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A method of a path."""

    method: Literal["GET", "POST", "DELETE"]
    path: str
    summary: str
    text: str
    right: Right
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of the request's body; None: it has none."""
    answers: tuple[Answer, ...]
    problems: tuple[p.Kind, ...] = ()
    """Besides those that every route has."""


EVERYWHERE = (
    p.BAD_REQUEST,
    p.UNAUTHENTICATED,
    p.FORBIDDEN,
    p.NOT_ALLOWED,
    p.MISDIRECTED,
    p.TOO_MANY,
    p.UNAVAILABLE,
    p.UNVERIFIABLE,
)
"""Problems of every route."""

STREAMS = ("text/event-stream", "application/x-ndjson")
"""Either, as `accept` says; the first without it."""

CONVERSATION = Parameter("conversation", "path", "Id of the conversation: the key of its records.")
MESSAGE = Parameter("message", "path", "Id of the message.")
DIALECT = Parameter(
    "dialect",
    "query",
    "How events look; `native` if nothing is said.",
    Literal[tuple(sorted(dialect.name for dialect in DIALECTS))],
)
FROM = Parameter(
    "from",
    "query",
    "Where to begin: `now`, what comes; `start`, everything that is looked back to; `message`, the message that is "
    "open, from its first event; or the id of a frame, behind which it goes on.",
)
LAST = Parameter(
    "last-event-id", "header", "Id of the last frame; goes over `from`. An `EventSource` sends it when it comes back."
)
LAST_QUERY = Parameter("last_event_id", "query", "The same for who can't set headers.")
UNTIL = Parameter(
    "until",
    "query",
    "`finish`: end with the answer. Who comes back behind its end gets 204. Without it the stream goes on for ever.",
    Literal["finish"],
)
REPLAY = Parameter(
    "replay",
    "query",
    "`folded`: neighbouring deltas that lie in the past may come as one. `exact`: as they were written.",
    Literal["exact", "folded"],
)
TICKET = Parameter("ticket", "query", "A ticket, in place of any other credentials.")

_SEEN = (DIALECT, FROM, LAST, LAST_QUERY, REPLAY, TICKET)
_STREAM = Answer(200, "The events as they come.", STREAMS)
_OVER = Answer(204, "Nothing more comes: an `EventSource` does not come back.")
_OF_STREAMS = (p.BAD_POSITION, p.UNKNOWN_DIALECT, p.GONE)

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/v1/conversations/{conversation}/events",
        summary="All events of a conversation",
        text="From where the client says, over as many connections as it takes. Of a conversation that has no message "
        "yet the first is waited for.",
        right="read",
        parameters=(CONVERSATION, *_SEEN, UNTIL),
        answers=(_STREAM, _OVER),
        problems=_OF_STREAMS,
    ),
    Route(
        method="GET",
        path="/v1/conversations/{conversation}/messages/{message}/events",
        summary="The events of one message",
        text="From its first event to its last, whatever else goes on in the conversation.",
        right="read",
        parameters=(
            CONVERSATION,
            MESSAGE,
            *_SEEN,
            Parameter("wait", "query", "`true`: wait for a message that has not begun.", Literal["true", "false"]),
        ),
        answers=(_STREAM, _OVER),
        problems=(*_OF_STREAMS, p.NOT_FOUND),
    ),
    Route(
        method="POST",
        path="/v1/conversations/{conversation}/ticket",
        summary="A ticket for a URL",
        text="For `EventSource`, which can't send headers. It is good for opening a connection within "
        "`gateway.ticket_s`; one that is open lasts as long as the rights that the ticket was made of.",
        right="read",
        parameters=(CONVERSATION,),
        body=TicketAsked,
        answers=(Answer(200, "The ticket.", ("application/json",), TicketMade),),
        problems=(p.TOO_LARGE,),
    ),
)
"""All of them. Ports for operators are no part of it."""
