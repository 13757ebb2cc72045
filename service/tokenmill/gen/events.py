"""The page of the native events, and the JSON schemas of events and chunks."""

import json
from typing import Any

import msgspec

from tokenmill.codecs import Chunk
from tokenmill.events import EVENT_TYPES, AnyEvent, DeclaredTool, Event, MessageStart, Request
from tokenmill.gen import describe, markdown

PARTS: dict[type[Event], tuple[tuple[str, type[msgspec.Struct]], ...]] = {
    MessageStart: (("request", Request), ("request.tools.NAME", DeclaredTool))
}
"""Objects inside events."""

ENVELOPE = {field.name for field in describe.fields(Event)}


def page() -> str:
    """Return the page: the envelope, then every event."""
    blocks = []
    for event in EVENT_TYPES:
        blocks += [f"## `{event.__struct_config__.tag}`", describe.about(event)]
        if own := [field for field in describe.fields(event) if field.name not in ENVELOPE]:
            blocks.append(_table(own))
        for name, inner in PARTS.get(event, ()):
            blocks += [f"`{name}`: {describe.about(inner)}", _table(describe.fields(inner))]
    return markdown.page(
        "Events",
        "The content of the topic `events` in the dialect `native`: one JSON object per record.\n"
        "The same as a JSON schema: [events.schema.json](events.schema.json); of the input: "
        "[chunk.schema.json](chunk.schema.json). Topics, keys and headers, too: [asyncapi.json](asyncapi.json).\n"
        "A field with a default may be left out; in Python, one that is absent is `msgspec.UNSET`. Readers ignore "
        "fields that they do not know.",
        "## The envelope",
        f"{describe.about(Event)} Besides these, `type` is the event's name.",
        _table(describe.fields(Event)),
        *blocks,
    )


def schema() -> str:
    """Return the JSON schema of every event."""
    return _schema(AnyEvent, "An event of tokenmill's native dialect")


def chunk_schema() -> str:
    """Return the JSON schema of the native codec's chunk."""
    return _schema(Chunk, "A chunk of tokenmill's native codec")


def _schema(kind: Any, title: str) -> str:
    (made,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    whole = {
        "$comment": "Generated from the code by `make gen`.",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **made,
        "$defs": definitions,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _table(fields: list[describe.Described]) -> str:
    rows = [(markdown.code(field.name), field.type, _default(field), field.text) for field in fields]
    return markdown.table(("field", "type", "default", "meaning"), rows)


def _default(field: describe.Described) -> str:
    if field.default is msgspec.NODEFAULT:
        return ""
    return "absent" if field.default is msgspec.UNSET else markdown.code(msgspec.json.encode(field.default).decode())
