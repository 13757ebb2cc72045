"""The streams of three APIs in one shape: pieces of an answer, to show and to check."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

Kind: TypeAlias = Literal["reasoning", "text", "call", "input", "finish"]


class Piece(NamedTuple):
    """What one payload adds. A `call` is a tool's name; its arguments are the `input` that follows."""

    kind: Kind
    text: str


class Told(msgspec.Struct):
    """The sum of all pieces of an answer."""

    reasoning: str = ""
    text: str = ""
    calls: list[list[str]] = []
    """Name and arguments of each call."""
    finish: str = ""

    def take(self, piece: Piece) -> None:
        """Add the next piece."""
        if piece.kind == "call":
            self.calls.append([piece.text, ""])
        elif piece.kind == "input":
            self.calls[-1][1] += piece.text
        elif piece.kind == "finish":
            self.finish = piece.text
        elif piece.kind == "reasoning":
            self.reasoning += piece.text
        else:
            self.text += piece.text

    def made(self) -> list[tuple[str, Any]]:
        """Return the calls, with their arguments as objects."""
        return [(name, msgspec.json.decode(arguments)) for name, arguments in self.calls]


def of_chat(chunk: dict[str, Any]) -> Iterator[Piece]:
    """Yield the pieces of a chat completions chunk."""
    for choice in chunk["choices"]:
        delta = choice["delta"]
        if text := delta.get("reasoning_content"):
            yield Piece("reasoning", text)
        if text := delta.get("content"):
            yield Piece("text", text)
        for call in delta.get("tool_calls") or ():
            if name := call["function"].get("name"):
                yield Piece("call", name)
            if arguments := call["function"].get("arguments"):
                yield Piece("input", arguments)
        if reason := choice.get("finish_reason"):
            yield Piece("finish", reason)


DELTAS: dict[str, Kind] = {
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.output_text.delta": "text",
    "response.function_call_arguments.delta": "input",
}


def of_responses(event: dict[str, Any]) -> Iterator[Piece]:
    """Yield the pieces of a Responses event."""
    kind = event["type"]
    if kind in DELTAS:
        yield Piece(DELTAS[kind], event["delta"])
    elif kind == "response.output_item.added" and event["item"]["type"] == "function_call":
        yield Piece("call", event["item"]["name"])
    elif kind in ("response.completed", "response.incomplete", "response.failed"):
        yield Piece("finish", event["response"]["status"])


BLOCKS: dict[str, tuple[Kind, str]] = {
    "thinking_delta": ("reasoning", "thinking"),
    "text_delta": ("text", "text"),
    "input_json_delta": ("input", "partial_json"),
}


def of_messages(event: dict[str, Any]) -> Iterator[Piece]:
    """Yield the pieces of a Messages event."""
    delta = event.get("delta", {})
    if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
        yield Piece("call", event["content_block"]["name"])
    elif event["type"] == "content_block_delta" and delta["type"] in BLOCKS:
        kind, key = BLOCKS[delta["type"]]
        yield Piece(kind, delta[key])
    elif event["type"] == "message_delta" and delta.get("stop_reason"):
        yield Piece("finish", delta["stop_reason"])


Reader: TypeAlias = Callable[[dict[str, Any]], Iterator[Piece]]
