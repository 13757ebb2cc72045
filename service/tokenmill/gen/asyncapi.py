"""The AsyncAPI document of the topics that other programs write or read, made from the types of their records.

1. It leaves out topics between tokenmill's own processes (`requests`, `tool-state`).
2. Addresses are the default names of `[topics]`; what an operator calls them otherwise is the same.
3. An action is said from the side of tokenmill, as the specification asks: it receives `tokens` and sends `events`.
"""

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any, Literal, NamedTuple

import msgspec

from tokenmill.codecs import Chunk
from tokenmill.config import Topics
from tokenmill.errors import RECORD_ERRORS
from tokenmill.events import EVENT_TYPES, Event, Finish, ToolCall, ToolProgress, ToolResult
from tokenmill.gen import describe
from tokenmill.tools.control import Approval, ApprovalRequest, Cancel

SCHEMAS = "#/components/schemas/{name}"

DECIMAL = {"type": "string", "pattern": "^[0-9]+$"}

OF_INPUT: Mapping[str, Any] = {
    "tm-codec": {"type": "string", "description": "The record's codec, if it is not the topic's."},
    "tm-stream": {"type": "string", "description": "Which of several streams of the conversation it belongs to."},
    "tm-message-id": {"type": "string", "description": "The message, where the provider gives it no id."},
    "tm-open": {"type": "string", "description": "Options of the message, as a JSON object."},
    "traceparent": {"type": "string", "description": "The trace that the answer is part of (W3C Trace Context)."},
    "tracestate": {"type": "string", "description": "What its makers say of it, likewise."},
}

OF_OUTPUT: Mapping[str, Any] = {
    "tm-message-id": {"type": "string", "description": "The message."},
    "tm-seq": DECIMAL | {"description": "Position of the event; missing where it has none."},
    "tm-choice": DECIMAL | {"description": "The choice, if it is not the first."},
    "tm-opened": DECIMAL | {"description": "When the message began, in milliseconds since the epoch."},
    "traceparent": OF_INPUT["traceparent"],
    "tracestate": OF_INPUT["tracestate"],
}

OF_DEAD_LETTERS: Mapping[str, Any] = {
    "tm-error-code": {"enum": [error.code for error in RECORD_ERRORS]},
    "tm-error": {"type": "string", "description": "What is wrong, in a sentence."},
    "tm-source-topic": {"type": "string"},
    "tm-source-partition": DECIMAL,
    "tm-source-offset": DECIMAL,
}


class _Channel(NamedTuple):
    """A topic: its key in `[topics]`, what tokenmill does with it, the records on it."""

    topic: str
    actions: tuple[Literal["send", "receive"], ...]
    records: tuple[type[msgspec.Struct], ...]
    headers: Mapping[str, Any] = {}


_OF_RESULTS: tuple[type[Event], ...] = (ToolResult, ToolProgress)

CHANNELS = (
    _Channel("tokens", ("receive",), (Chunk,), OF_INPUT),
    _Channel("events", ("send",), tuple(each for each in EVENT_TYPES if each not in _OF_RESULTS), OF_OUTPUT),
    _Channel("tool_calls", ("send",), (ToolCall, Finish), OF_OUTPUT),
    _Channel("tool_results", ("send", "receive"), _OF_RESULTS),
    _Channel("tool_control", ("send", "receive"), (ApprovalRequest, Approval, Cancel)),
    _Channel("dlq", ("send",), (), OF_DEAD_LETTERS),
)


def document() -> str:
    """Return the document as JSON."""
    kinds = {kind.__name__: kind for channel in CHANNELS for kind in channel.records}
    _, schemas = msgspec.json.schema_components(list(kinds.values()), ref_template=SCHEMAS)
    whole = {
        "asyncapi": "3.1.0",
        "info": {
            "title": "tokenmill",
            "version": version("tokenmill"),
            "description": "Token streams of language models in, events out. Generated from the code by `make gen`.",
            "license": {"name": "MIT"},
        },
        "defaultContentType": "application/json",
        "servers": {"kafka": {"host": "localhost:9092", "protocol": "kafka"}},
        "channels": {channel.topic: _channel(channel) for channel in CHANNELS},
        "operations": {name: operation for channel in CHANNELS for name, operation in _operations(channel)},
        "components": {"schemas": schemas},
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _channel(channel: _Channel) -> dict[str, Any]:
    return {
        "address": getattr(Topics(), channel.topic),
        "description": describe.meaning(Topics, channel.topic),
        "messages": dict(_messages(channel)),
    }


def _messages(channel: _Channel) -> Iterable[tuple[str, Any]]:
    headers = {"headers": {"type": "object", "properties": dict(channel.headers)}} if channel.headers else {}
    key = {"bindings": {"kafka": {"key": {"type": "string", "description": "The conversation's id."}}}}
    if not channel.records:
        yield "Rejected", {"summary": "A record as it came.", "payload": {}, **headers}
    for kind in channel.records:
        yield (
            kind.__name__,
            {
                "name": kind.__struct_config__.tag or kind.__name__.lower(),
                "summary": describe.about(kind),
                "payload": {"$ref": SCHEMAS.format(name=kind.__name__)},
                **headers,
                **key,
            },
        )


def _operations(channel: _Channel) -> Iterable[tuple[str, Any]]:
    for action in channel.actions:
        yield f"{action}_{channel.topic}", {"action": action, "channel": {"$ref": f"#/channels/{channel.topic}"}}
