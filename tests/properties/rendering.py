"""One answer in a dialect: nothing raises, the state may be stored at any event, clients get JSON and whole arguments.

What the arguments are is read as a client does: the pieces of each call joined, by the call's id.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from tests.support.promises import require
from tokenmill.dialects import Dialect, Envelope
from tokenmill.dialects.arguments import whole
from tokenmill.dialects.dialect import voids
from tokenmill.events import ArgumentDelta, Error, Event, Finish, ToolCall, ToolInputDelta
from tokenmill.parser import Grammar

Pieces: TypeAlias = Iterator[tuple[str, str]]
"""Ids of calls, each with the next piece of its arguments."""

DONE = b"[DONE]"


def check_dialect(dialect: Dialect, grammar: Grammar, events: Sequence[Event], saves: random.Random | None) -> None:
    """What a dialect makes of an answer's events; with `saves` its state is stored now and then. Raises `Broken`."""
    payloads = render(dialect, grammar, events)
    if saves:
        again = render(dialect, grammar, events, saves)
        require(again == payloads, f"P3: {dialect.name} says something else when its state was stored")
    for payload in payloads:
        require(b"\n" not in payload, f"{dialect.name}: {payload!r} is not one line")
    read = [json.loads(payload) for payload in payloads if payload != DONE]
    require(all(isinstance(payload, dict) for payload in read), f"{dialect.name}: a payload is no object")
    if (reader := READERS.get(dialect.name)) is not None:
        check_arguments(dialect.name, list(reader(read)), events)


def render(
    dialect: Dialect, grammar: Grammar, events: Sequence[Event], saves: random.Random | None = None
) -> list[bytes]:
    """The payloads, of the events that a message's dialect is given."""
    streams = dialect.streams_tool_input or grammar.options.stream_tool_input
    envelope = Envelope("c", "m", 0, 0, grammar.message_start)
    kind = dialect.state_type
    state = kind() if kind else None
    payloads: list[bytes] = []
    for seq, event in enumerate(events):
        if not streams and isinstance(event, ToolInputDelta | ArgumentDelta):
            continue
        payloads += dialect.encode(state, envelope, event, seq, seq)
        if kind and saves and saves.random() < 0.5:
            state = msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=kind)
    return payloads


def check_arguments(name: str, pieces: Sequence[tuple[str, str]], events: Sequence[Event]) -> None:
    """Of a complete call the pieces are its arguments; of one that failed they are no JSON."""
    joined: dict[str, str] = {}
    for call_id, piece in pieces:
        joined[call_id] = joined.get(call_id, "") + piece
    finish = events[-1]
    told = not (name == "agent" and isinstance(finish, Finish) and finish.reason == "cancelled")
    for event in events:
        if isinstance(event, ToolCall) and told:
            require(event.id in joined, f"{name}: nothing of call {event.id}")
            final = json.loads(whole(event.arguments))
            got = json.loads(joined[event.id])
            require(got == final or whole(got) == whole(final), f"{name}: {joined[event.id]!r} is not {final!r}")
        elif isinstance(event, Error) and isinstance(event.id, str) and voids(event, event.id) and event.id in joined:
            require(not _is_json(joined[event.id]), f"{name}: {joined[event.id]!r} of a call that failed")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def _ag_ui(payloads: Sequence[Any]) -> Pieces:
    return ((said["toolCallId"], said["delta"]) for said in payloads if said["type"] == "TOOL_CALL_ARGS")


def _agent(payloads: Sequence[Any]) -> Pieces:
    return ((row["toolCallId"], json.dumps(row["arguments"])) for row in payloads if row["type"] == "tool_call")


def _ai_sdk_parts(payloads: Sequence[Any]) -> Pieces:
    grown = [(part["id"], part["delta"]) for part in payloads if part["type"] == "tool-input-delta"]
    called = [(part["toolCallId"], part["input"]) for part in payloads if part["type"] == "tool-call"]
    for call_id, arguments in called:
        pieces = [piece for grown_id, piece in grown if grown_id == call_id]
        require(not pieces or "".join(pieces) == arguments, f"ai_sdk_parts: {pieces} is not the input {arguments}")
    ids = {call_id for call_id, _ in called}
    yield from called
    yield from (piece for piece in grown if piece[0] not in ids)


def _ai_sdk_ui(payloads: Sequence[Any]) -> Pieces:
    grown = [(part["toolCallId"], part["inputTextDelta"]) for part in payloads if part["type"] == "tool-input-delta"]
    ids = {call_id for call_id, _ in grown}
    yield from grown
    for part in payloads:
        if part["type"] in ("tool-input-available", "tool-input-error") and part["toolCallId"] not in ids:
            yield part["toolCallId"], json.dumps(part["input"]) if isinstance(part["input"], dict) else "{"


def _anthropic(payloads: Sequence[Any]) -> Pieces:
    blocks: dict[int, str] = {}
    for said in payloads:
        if said["type"] == "content_block_start" and said["content_block"]["type"] == "tool_use":
            blocks[said["index"]] = said["content_block"]["id"]
        elif said["type"] == "content_block_delta" and said["delta"]["type"] == "input_json_delta":
            yield blocks[said["index"]], said["delta"]["partial_json"]


def _anthropic_message(payloads: Sequence[Any]) -> Pieces:
    for message in payloads:
        for block in message.get("content", ()):
            if block["type"] == "tool_use":
                yield block["id"], json.dumps(block["input"])


def _openai(payloads: Sequence[Any]) -> Pieces:
    calls: dict[int, str] = {}
    for chunk in payloads:
        for choice in chunk.get("choices", ()):
            for call in choice["delta"].get("tool_calls", ()):
                calls.setdefault(call["index"], call.get("id", ""))
                yield calls[call["index"]], call["function"]["arguments"]


def _openai_completion(payloads: Sequence[Any]) -> Pieces:
    for answer in payloads:
        for call in answer["choices"][0]["message"].get("tool_calls", ()):
            yield call["id"], call["function"]["arguments"]


def _openai_responses(payloads: Sequence[Any]) -> Pieces:
    calls: dict[str, str] = {}
    for said in payloads:
        if said["type"] == "response.output_item.added" and said["item"]["type"] == "function_call":
            calls[said["item"]["id"]] = said["item"]["call_id"]
        elif said["type"] == "response.function_call_arguments.delta":
            yield calls[said["item_id"]], said["delta"]


READERS: dict[str, Callable[[Sequence[Any]], Pieces]] = {
    "ag_ui": _ag_ui,
    "agent": _agent,
    "ai_sdk_parts": _ai_sdk_parts,
    "ai_sdk_ui": _ai_sdk_ui,
    "anthropic": _anthropic,
    "anthropic_message": _anthropic_message,
    "openai": _openai,
    "openai_completion": _openai_completion,
    "openai_responses": _openai_responses,
}
"""Dialects whose clients are told arguments as JSON, and how they read them."""
