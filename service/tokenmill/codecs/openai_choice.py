"""One choice of a `chat.completion.chunk`: the content of its `delta` in the variants that servers send.

1. Reasoning is in `reasoning` or in `reasoning_content`; servers that send both send the same text.
2. A deprecated `function_call` is the tool call with index 0.
3. `content` is a text, or a list of items, of which those of text and thinking are read.
4. Answers that are not streamed have a `message` in place of the `delta`, plain completions a `text`.
5. Some servers send the text at which a model was told to stop next to the finish reason.
6. Everything else in a delta (a refusal, audio, an unknown extension) becomes a `part` under its name, as it is; so
   does the `extra_content` of a call, with the call's id.
"""

from typing import Any

from tokenmill.codecs.chunk import Chunk, ProviderPart
from tokenmill.codecs.payloads import text_of
from tokenmill.codecs.plain import check_plain
from tokenmill.errors import Undecodable

_TEXTS = ("content", "reasoning", "reasoning_content")
_STOPS = ("stop_reason", "matched_stop")
"""Fields of vLLM and of SGLang."""
_NO_STOP = "NaN happened"
"""Value that SGLang sends there instead when its numbers broke down."""
_EXTRA = "extra_content"
"""Field of Gemini's calls, with the signature without which it refuses the next turn."""
_CALLS = frozenset({"role", "tool_calls", "function_call"})
_LARGEST = 2**53
"""Largest integer that every language's JSON reader keeps exact."""


def index_of(choice: dict[str, Any]) -> int:
    """The number of the choice; 0 if it has none. Raises `Undecodable`."""
    index = choice.get("index")
    if index is None:
        return 0
    if type(index) is not int or not 0 <= index <= _LARGEST:
        raise Undecodable(f"the index of a choice is not a number from 0: {index!r:.50}")
    return index


def finish_of(choice: dict[str, Any]) -> str | None:
    """Its finish reason, if it has one."""
    reason = choice.get("finish_reason")
    return reason if isinstance(reason, str) and reason else None


def stop_of(choice: dict[str, Any]) -> str | None:
    """The text at which the model was told to stop and did; servers may also send a token's number there."""
    if finish_of(choice) != "stop":  # then the field holds the server's own word for the reason
        return None
    said = (text_of(choice.get(name)) for name in _STOPS)
    return next((text for text in said if text and text != _NO_STOP), None)


def content_of(choice: dict[str, Any]) -> list[Chunk]:
    """The chunks of its delta; none for a delta without content. Raises `Undecodable`."""
    delta = next((choice[name] for name in ("delta", "message") if choice.get(name) is not None), None)
    if delta is None:
        return [Chunk(delta=text)] if (text := text_of(choice.get("text"))) else []
    if not isinstance(delta, dict):
        raise Undecodable("`delta` is not an object")
    text, reasoning, reasoning_content = (text_of(delta.get(name)) for name in _TEXTS)
    parts = [ProviderPart(kind, value) for kind, value in delta.items() if _is_part(kind, value)]
    for part in parts:
        check_plain(part.value, part.kind)
    calls = _calls_of(delta)
    chunks = _extras(calls) if calls else []
    if isinstance(delta.get("content"), list):
        chunks += _items(delta["content"])
    if text or reasoning or reasoning_content or calls:
        chunks.append(Chunk(reasoning=reasoning or reasoning_content, delta=text, tool_calls=calls))
    return chunks + [Chunk(part=part) for part in parts]


def _extras(calls: list[dict[str, Any]]) -> list[Chunk]:
    """What a provider expects back with its calls. It precedes them, because dialects write it as a call begins."""
    said = ((text_of(call.get("id")), call.get(_EXTRA)) for call in calls)
    return [Chunk(part=ProviderPart(_EXTRA, extra, call_id)) for call_id, extra in said if call_id and extra]


def _items(content: list[Any]) -> list[Chunk]:
    """The items of a content that is a list, in their order. Raises `Undecodable`."""
    check_plain(content, "content")
    return [chunk for item in content if (chunk := _item(item)) is not None]


def _item(item: Any) -> Chunk | None:
    match item:
        case str(text) | {"type": "text", "text": str(text)}:
            return Chunk(delta=text) if text else None
        case {"type": "thinking", "thinking": thinking}:
            pieces = thinking if isinstance(thinking, list) else [thinking]
            said = "".join(
                text_of(piece.get("text")) if isinstance(piece, dict) else text_of(piece) for piece in pieces
            )
            return Chunk(reasoning=said) if said else None
        case {"type": str(kind)} if kind:
            return Chunk(part=ProviderPart(kind, item))
        case _:
            return Chunk(part=ProviderPart("content", item)) if item else None


def _is_part(kind: str, value: Any) -> bool:
    """Whether a field has content that belongs in no other field of a chunk."""
    if kind in _CALLS or value is None or value in ("", [], {}):
        return False
    return kind not in _TEXTS or not isinstance(value, str | list if kind == "content" else str)


def _calls_of(delta: dict[str, Any]) -> list[dict[str, Any]]:
    calls, function = delta.get("tool_calls"), delta.get("function_call")
    calls = [] if calls is None else [calls] if isinstance(calls, dict) else calls
    if not isinstance(calls, list):
        raise Undecodable("`tool_calls` is not a list")
    if isinstance(function, dict):
        calls = [*calls, {"index": 0, "function": function}]
    check_plain(calls, "tool_calls")
    return [call for call in calls if isinstance(call, dict)]
