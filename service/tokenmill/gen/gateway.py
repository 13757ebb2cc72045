"""The page of the gateway: routes, ids, framing, ends, problems."""

from collections.abc import Iterator

from tokenmill.gateway.problems import KINDS
from tokenmill.gateway.routes.table import EVERYWHERE, ROUTES, Parameter, Route
from tokenmill.gen import describe, markdown


def page() -> str:
    """Return the page, with everything that a client of the gateway can rely on."""
    return markdown.page(
        "Gateway",
        *(text.strip() for text in ABOUT),
        "## Routes",
        markdown.table(
            ("", "path", "", "right"),
            [(route.method, markdown.code(route.path), route.summary, route.right) for route in ROUTES],
        ),
        *(block for route in ROUTES for block in _route(route)),
        *(text.strip() for text in STREAMS),
        "## Problems",
        PROBLEMS.strip(),
        markdown.table(
            ("kind", "status", "meaning"),
            [(markdown.code(kind.name), str(kind.status), f"{kind.title}.") for kind in KINDS],
        ),
        "Every route may answer with " + ", ".join(markdown.code(kind.name) for kind in EVERYWHERE) + ".",
    )


def _route(route: Route) -> Iterator[str]:
    yield f"### `{route.method} {route.path}`"
    yield route.text
    if route.parameters:
        yield markdown.table(("parameter", "in", "meaning"), [_parameter(each) for each in route.parameters])
    if route.body is not None:
        yield f"Body: {' '.join((route.body.__doc__ or '').split())}"
        rows = [(markdown.code(field.name), field.type, field.text) for field in describe.fields(route.body)]
        yield markdown.table(("field", "type", "meaning"), rows)
    yield "\n".join(f"- {answer.status}: {answer.text}" for answer in route.answers)
    if route.problems:
        yield "Problems: " + ", ".join(markdown.code(kind.name) for kind in route.problems) + "."


def _parameter(parameter: Parameter) -> tuple[str, str, str]:
    return markdown.code(parameter.name), parameter.place, parameter.text


ABOUT = (
    """
`tokenmill gateway` serves the topic `events` over HTTP. A client gets the payloads of its conversation in the dialect
that it asks for, in order, none twice and none missing, over any number of connections, from any gateway. This page as
an OpenAPI document: [openapi.json](openapi.json); the settings are in [`[gateway]`](configuration.md#gateway).
""",
    """
[Show an answer in a browser](../howto/show-an-answer-in-a-browser.md) and
[put it behind a proxy](../howto/put-the-gateway-behind-a-proxy.md) show how to use it;
[design](../topics/design.md#8-the-gateway) describes how the promise is kept.
""",
)

STREAMS = (
    "## Framing",
    """
Server-sent events, unless the client accepts `application/x-ndjson`:

| | server-sent events | NDJSON | WebSocket |
| --- | --- | --- | --- |
| a payload | `id:`, `event:` if clients of the dialect look for one, `data:` | `{"id": …, "data": …}` | the same |
| the client's position, before the first payload | a block with `id:` alone | `{"id": …}` | the same |
| the gateway's own notices | `event:` with the name, `retry:` | `{"event": …, "data": …}` | the same |
| after `gateway.heartbeat_s` of silence | the comment `: hb` | an empty line | nothing |
""",
    """
`data` is the dialect's payload, on one line; a payload that is not JSON, such as `[DONE]`, is a string in NDJSON.
A stream of server-sent events begins with `retry:` and a pause drawn for each client, so that the clients of a killed
process do not all reconnect at once. Clients of OpenAI's dialects fail on a block with only an id, and do not reconnect
by it: they get the comment `: open` instead of both. Frames that come within `gateway.flush_ms` are written together;
the first and the last of a message immediately. A WebSocket is pinged after 20 s without a frame from its client.
""",
    "## Ids",
    """
`<partition>.<offset>.<part>~<back>~<mark>` names a frame by its record in the log, how far before it reading has to
begin in order to continue after it, and which event the record is. An id with the part 0 is the position before a
record. Any gateway understands ids, and none stores them. The ids of a partition sort as text in the order of their
frames. A client sends an id back as `Last-Event-ID`, `last_event_id` or `from`. Each is checked against the record that
it names, so an id of another conversation or another log is invalid; an id from another dialect is valid, and what
follows its record is sent. A client that comes back with an invalid one (`Last-Event-ID`, `last_event_id`) can't see a
refusal, so it gets the notice `gap` and what there is; with `from` it is refused (410). Text that is not an id is
always refused (400).
""",
    "## How a stream ends",
    """
| what happened | server-sent events and NDJSON | the client |
| --- | --- | --- |
| the answer is over (`until=finish`, one message) | a complete end | is done; an `EventSource` comes back to a 204 |
| the gateway stops, the client is slow, rights end | `retry`, then a **reset** | comes back with its id |
| the topic has grown, and the conversation continues elsewhere | an id there, then the same | comes back with that |
| what follows its id is gone | the notice `gap`, then what there is | may have to show the gap |
| the client leaves, or closes its sending half | | gets nothing more; the answer continues |
""",
    """
A cut never looks like an end: a client that sees a complete end of the answer has all of it. An `EventSource` gets no
reason for a refusal and does not reconnect after one; the how-to shows what a page does then. So a client that
reconnects by itself, with the header `Last-Event-ID`, is not refused for what passes (429, 503): it gets `retry` and a
reset. Server-sent events in the dialects `openai`, `openai_responses`, `ai_sdk_ui` and `ag_ui` have no notice `gap`:
clients take each event for one of the API's. In the last two, an answer whose beginning is gone is an error,
which ends the stream.
""",
    """
A WebSocket is closed with 1000 after the end of an answer, 1001 when the gateway stops, 1008 for what is not allowed or
not understood, and for too many frames, 1009 for a frame that is too large, 1011 for an error of the gateway, 1012 when
the topic has grown, and 1013 for a client that should come back later: it was too slow, did not answer pings, or was
refused for what passes (429, 503). With 1001, 1012 and 1013, and when rights end, `retry` comes first, with a pause in
milliseconds.
""",
)

PROBLEMS = """
A refusal is an RFC 9457 problem: `type` is `urn:tokenmill:problem:` and the kind, `detail` describes what to change.
Every answer that is not a stream has `x-request-id`, which the gateway's log uses for everything about it.
"""
