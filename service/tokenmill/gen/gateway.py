"""The page of the gateway: routes, ids, framing, ends, problems."""

from collections.abc import Iterator

from tokenmill.gateway.problems import KINDS
from tokenmill.gateway.routes.table import EVERYWHERE, ROUTES, Parameter, Route
from tokenmill.gen import describe, markdown


def page() -> str:
    """Everything that a client of the gateway can rely on."""
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
            ("kind", "status", "says"),
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
`tokenmill gateway` serves the topic `events` over HTTP. A client gets the payloads of its conversation in
the dialect that it asks for, in order, none twice and none missing, over any number of connections, from any gateway.
[openapi.json](openapi.json) is the same as an OpenAPI document; the settings are in
[`[gateway]`](configuration.md#gateway).
""",
    """
[Show an answer in a browser](../howto/show-an-answer-in-a-browser.md) and
[put it behind a proxy](../howto/put-the-gateway-behind-a-proxy.md) show how it is used;
[design](../topics/design.md#8-the-gateway) explains how the promise is kept.
""",
)

STREAMS = (
    "## Framing",
    """
Server-sent events, unless the client accepts `application/x-ndjson`:

| | server-sent events | NDJSON | WebSocket |
| --- | --- | --- | --- |
| a payload | `id:`, `event:` if clients of the dialect look for one, `data:` | `{"id": …, "data": …}` | the same |
| where the client is, before the first payload | a block with `id:` alone | `{"id": …}` | the same |
| messages of the gateway's own | `event:` with its name, `retry:` | `{"event": …, "data": …}` | the same |
| silence of `gateway.heartbeat_s` | the comment `: hb` | an empty line | a ping |
""",
    """
`data` is the payload as the dialect writes it, one line; a payload that is not JSON, such as `[DONE]`, is a string
in NDJSON.
A stream of server-sent events begins with `retry:` and a time drawn for each client, so that the clients of a process
that is killed do not all come back at once. Clients of OpenAI's dialects fail on a block with an id alone, and do not
come back by it: they get the comment `: open` in place of both.
Frames that come within `gateway.flush_ms` are written together; the first of a message and its last at once.
""",
    "## Ids",
    """
`<partition>.<offset>.<part>~<back>~<mark>` names a frame by its record in the log, how far before it reading has to
begin to continue after it, and which event the record is. An id with part 0 is the place before a record. Any gateway
understands ids, and none remembers them. Those of a partition sort as text in the order of their frames. A client sends
back what it got, as `Last-Event-ID`, `last_event_id` or `from`. Each is checked against the record that it names, so an
id of another conversation or another log is not valid here. In another dialect it is: what follows its record comes. A
client that comes back with an id that is not valid (`Last-Event-ID`, `last_event_id`) can't see a refusal: it gets the
notice `gap` and everything there is. With `from` it is refused (410). Text that is not an id is always refused (400).
""",
    "## How a stream ends",
    """
| what happened | server-sent events and NDJSON | the client |
| --- | --- | --- |
| the answer is over (`until=finish`, one message) | a complete end | is done; an `EventSource` comes back to a 204 |
| the gateway stops, the client is slow, rights end | `retry`, then a **reset** | comes back with its id |
| the topic has grown, the conversation continues elsewhere | an id there, then the same | comes back with it |
| what follows its id is gone | the notice `gap`, then what there is | may have to show that something is missing |
| the client leaves, or closes its sending half | | nothing is stopped by it; it gets no more bytes |
""",
    """
A cut never looks like an end: a client that sees a complete end of the answer has all of it. An `EventSource` gets no
reason for a refusal and does not come back from one; what a page does then is in the how-to. So one that comes back by
itself, with the header `Last-Event-ID`, is not refused for what passes (429, 503): it gets `retry` and a reset. Among
server-sent events of the dialects `openai`, `openai_responses`, `ai_sdk_ui` and `ag_ui` there is no notice `gap`:
clients take each event for one of the API's. In the last two one answer whose beginning is gone is an error, which
ends the stream.
""",
    """
A WebSocket is closed with 1000 after the end of an answer, 1001 where the gateway stops, 1008 for what is not allowed
or not understood, 1009 for a frame that is too large, 1012 where the topic has grown, and 1013 for a client that is too
slow or where Kafka does not answer: come back later. Where the gateway stops, the topic has grown, rights end or the
client is slow, `retry` comes first, with a pause in milliseconds.
""",
)

PROBLEMS = """
A refusal is an RFC 9457 problem: `type` is `urn:tokenmill:problem:` and the kind, `detail` says what to change. Every
answer that is not a stream has `x-request-id`, under which the gateway's log has what concerns it.
"""
