"""Every route of the gateway as data: the reference page and the OpenAPI document are made from these rows.

A route that is served is a row here, and every row is served: `tests/gateway/routes/test_table.py` compares both.
"""

from typing import Any, Literal, TypeAlias

import msgspec

from tokenmill.codecs import Chunk
from tokenmill.dialects import DIALECTS
from tokenmill.gateway import problems as p
from tokenmill.gateway.ingest.bodies import Accepted, Stop, StopAccepted, ToolResultBody, Written
from tokenmill.gateway.problems import Kind
from tokenmill.gateway.routes.ag_ui import RunAgentInput
from tokenmill.gateway.routes.tickets import TicketAsked, TicketMade

ParameterPlace: TypeAlias = Literal["path", "query", "header"]
Right: TypeAlias = Literal["read", "stop", "write"]


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a request, besides its body."""

    name: str
    place: ParameterPlace
    text: str
    kind: Any = str
    """A type that msgspec has a schema for."""


class Answer(msgspec.Struct, frozen=True):
    """An answer that is not a problem."""

    status: int
    text: str
    media: tuple[str, ...] = ()
    body: Any = None
    """The type of a JSON body; None: it is a stream, or empty."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A method of a path."""

    method: Literal["GET", "HEAD", "POST", "DELETE"]
    path: str
    summary: str
    text: str
    right: Right
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of the request's body, or None without one."""
    media: tuple[str, ...] = ("application/json",)
    """Media types of the body; all but JSON are streams."""
    answers: tuple[Answer, ...]
    problems: tuple[Kind, ...] = ()
    """Problems besides those of every route."""


EVERYWHERE = (
    p.BAD_REQUEST,
    p.UNAUTHENTICATED,
    p.FORBIDDEN,
    p.FOREIGN_ORIGIN,
    p.NOT_ALLOWED,
    p.MISDIRECTED,
    p.TOO_MANY,
    p.INTERNAL,
    p.UNAVAILABLE,
    p.UNVERIFIABLE,
)
"""Problems of every route."""

STREAMS = ("text/event-stream", "application/x-ndjson")
"""Media types of streams: `accept` chooses; the first is the default."""

CONVERSATION = Parameter("conversation", "path", "Id of the conversation: the key of its records.")
MESSAGE = Parameter("message", "path", "Id of the message.")
DIALECT = Parameter(
    "dialect",
    "query",
    "Dialect of the events; by default `native`.",
    Literal[tuple(sorted(dialect.name for dialect in DIALECTS))],
)
FROM = Parameter(
    "from",
    "query",
    "Where to begin: `now`, with what comes; `start`, with everything within the look-back; `message`, with the open "
    "message, from its first event; or the id of a frame, after which to continue.",
)
LAST = Parameter(
    "last-event-id", "header", "Id of the last frame; overrides `from`. An `EventSource` sends it when it reconnects."
)
LAST_QUERY = Parameter("last_event_id", "query", "The same, for clients that can't set headers.")
UNTIL = Parameter(
    "until",
    "query",
    "`finish`: end with the answer. A client that comes back after its end gets 204. By default the stream never ends.",
    Literal["finish"],
)
REPLAY = Parameter(
    "replay",
    "query",
    "`folded`: adjacent past deltas may be joined. `exact`: as they were written.",
    Literal["exact", "folded"],
)
TICKET = Parameter("ticket", "query", "A ticket, instead of any other credentials.")

_SEEN = (DIALECT, FROM, LAST, LAST_QUERY, REPLAY, TICKET)
_STREAM = Answer(200, "The events as they come.", STREAMS)
_OVER = Answer(204, "Nothing more comes: an `EventSource` does not reconnect.")
_SOCKET = Answer(101, "The connection is a WebSocket now.")
_JSON = ("application/json",)
_OF_WRITES = (p.TIMED_OUT, p.TOO_LARGE, p.UNSUPPORTED, p.STOPPING)

PRODUCER = (
    Parameter(
        "producer-id",
        "header",
        "Id of a producer that numbers its requests: repeats to the same gateway are written once. Another gateway "
        "does not know it, and answers a number above 0 with 409.",
    ),
    Parameter("producer-epoch", "header", "How often it has restarted; required with the id.", int),
    Parameter("producer-seq", "header", "Number of the request in its epoch, from 0; required with the id.", int),
)

_OF_STREAMS = (p.BAD_POSITION, p.UNKNOWN_DIALECT, p.GONE)

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/v1/conversations/{conversation}/events",
        summary="All events of a conversation",
        text="From the client's position, over any number of connections. If the conversation has no message yet, the "
        "stream waits for the first.",
        right="read",
        parameters=(CONVERSATION, *_SEEN, UNTIL),
        answers=(_STREAM, _OVER),
        problems=_OF_STREAMS,
    ),
    Route(
        method="GET",
        path="/v1/conversations/{conversation}/messages/{message}/events",
        summary="The events of one message",
        text="From its first event to its last, whatever else happens in the conversation.",
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
        text="For `EventSource`, which can't send headers. It opens connections for `gateway.ticket_s`; an open "
        "one lasts as long as the rights for which the ticket was issued.",
        right="read",
        parameters=(CONVERSATION,),
        body=TicketAsked,
        answers=(Answer(200, "The ticket.", ("application/json",), TicketMade),),
        problems=_OF_WRITES,
    ),
    Route(
        method="GET",
        path="/v1/conversations/{conversation}/ws",
        summary="A WebSocket with one conversation",
        text="A request with parameters in the URL is served immediately; otherwise, or with only a ticket, the first "
        "frame has the same parameters, and `authorization`, as browsers can't set headers. Each frame is an "
        "object with `id` and `data`. The client may send `stop` and `tool_result`.",
        right="read",
        parameters=(CONVERSATION, *_SEEN, UNTIL),
        answers=(_SOCKET,),
    ),
    Route(
        method="GET",
        path="/v1/ws",
        summary="A WebSocket with several conversations",
        text="Each with its own position: `subscribe` and `unsubscribe`, with `conversation` and the query parameters "
        "of `/events`. Frames name their conversation. Requests about a subscribed conversation use the credentials "
        "of its subscription, others the last ones.",
        right="read",
        parameters=(TICKET,),
        answers=(_SOCKET,),
    ),
    Route(
        method="POST",
        path="/v1/conversations/{conversation}/chunks",
        summary="Write a model's output",
        text="Native chunks, one as JSON or one per line as NDJSON, or with `codec` a provider's raw stream, read as "
        "it comes, of any length. The response comes when all of it is in the log. Needs `gateway.writes`. A stopping "
        "gateway refuses new requests as `stopping`, and lets this one continue for `gateway.drain_s`; then it is "
        "refused, too: messages whose chunks have no `seq` end as failed, others can continue through another gateway.",
        right="write",
        parameters=(
            CONVERSATION,
            Parameter("codec", "query", "Codec of the body, if not native; `tokenmill codecs` lists them."),
            Parameter("message_id", "query", "Message id of chunks without one."),
            Parameter("tm-open", "query", "Options of a message that this opens, as a JSON object."),
            Parameter("tm-open", "header", "The same."),
            *PRODUCER,
        ),
        body=Chunk,
        media=("application/json", "application/x-ndjson", "text/event-stream", "application/octet-stream"),
        answers=(
            Answer(200, "All of it is in the log.", _JSON, Accepted),
            Answer(204, "The producer has written this before."),
        ),
        problems=(*_OF_WRITES, p.UNKNOWN_CODEC, p.CONFLICT, p.STALE_PRODUCER),
    ),
    Route(
        method="POST",
        path="/v1/conversations/{conversation}/stop",
        summary="Stop an answer",
        text="Ends a message early, for all its readers. Without a body: the only open one.",
        right="stop",
        parameters=(CONVERSATION, TICKET),
        body=Stop,
        answers=(
            Answer(202, "It will stop.", _JSON, StopAccepted),
            Answer(200, "There was nothing to stop.", _JSON, StopAccepted),
        ),
        problems=(*_OF_WRITES, p.CONFLICT),
    ),
    Route(
        method="DELETE",
        path="/v1/conversations/{conversation}/messages/{message}",
        summary="Stop the answer at this address",
        text="The same; what was written so far stays in the log.",
        right="stop",
        parameters=(CONVERSATION, MESSAGE, TICKET),
        answers=(
            Answer(202, "It will stop.", _JSON, StopAccepted),
            Answer(200, "There was nothing to stop.", _JSON, StopAccepted),
        ),
    ),
    Route(
        method="POST",
        path="/v1/conversations/{conversation}/tool-results",
        summary="Write a tool's result",
        text="One result, for its readers on the topic `tool-results`.",
        right="write",
        parameters=(CONVERSATION,),
        body=ToolResultBody,
        answers=(Answer(200, "It is in the log.", _JSON, Written),),
        problems=_OF_WRITES,
    ),
    Route(
        method="GET",
        path="/api/chat/{conversation}/stream",
        summary="Resume, for the AI SDK's useChat",
        text="The open answer, from its start, in the dialect `ai_sdk_ui`, with the text so far in one piece.",
        right="read",
        parameters=(CONVERSATION, TICKET),
        answers=(
            Answer(200, "The answer as it comes.", ("text/event-stream",)),
            Answer(204, "No answer is open."),
        ),
    ),
    Route(
        method="GET",
        path="/v1/streams/{conversation}",
        summary="Read by Durable Streams",
        text="The reading side of Durable Streams 1.0, in JSON mode: what follows an offset, as an array, or as it "
        "comes. The header `stream-next-offset` is where to continue. If the log no longer has the beginning of a "
        "message, the answer has the header `tm-gap`, or an event `control` the field `tmGap`.",
        right="read",
        parameters=(
            CONVERSATION,
            DIALECT,
            Parameter("offset", "query", "`-1`: from the beginning; `now`; or an offset from an answer."),
            Parameter("live", "query", "Wait for new events, once or for a minute.", Literal["long-poll", "sse"]),
            Parameter("cursor", "query", "The last answer's cursor; it keeps caches from repeating themselves."),
            UNTIL,
            TICKET,
        ),
        answers=(
            Answer(200, "What there is, or events as they come.", ("application/json", "text/event-stream")),
            Answer(204, "Nothing came."),
            Answer(304, "The client already has this answer."),
        ),
        problems=_OF_STREAMS,
    ),
    Route(
        method="HEAD",
        path="/v1/streams/{conversation}",
        summary="Where a Durable Stream ends",
        text="In the header `stream-next-offset`.",
        right="read",
        parameters=(CONVERSATION, DIALECT, TICKET),
        answers=(Answer(200, "The offset of what comes next."),),
    ),
    Route(
        method="POST",
        path="/ag-ui",
        summary="A run, for AG-UI's HttpAgent",
        text="The run with this `runId`, or else the open one, or else the next one of the conversation `threadId`. "
        "Begins with `RUN_STARTED`, and the text so far in one piece. Writes nothing.",
        right="read",
        body=RunAgentInput,
        answers=(Answer(200, "The run as it comes.", ("text/event-stream",)),),
        problems=(p.TIMED_OUT, p.TOO_LARGE, p.STOPPING),
    ),
)
"""All routes, except those of the operators' port."""
