"""What a tool answered, as the `result` of a `tool-result`: in the protocol's own shape, and of a bounded size.

1. `content` lists texts, images, sounds and resources as the protocol writes them, `structuredContent` is the value
   that the tool's output schema describes. Servers mostly give both, with the same content.
2. A result over the cap is cut there. A text keeps its beginning and says how much is missing, any other part is
   replaced by a sentence about it, and a structured value that does not fit is left out. `truncated` marks the result.
3. An error of the tool consists of its texts, joined.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tokenmill.limits import KIB

RESULT_BYTES = 256 * KIB
"""Longest result as JSON: more does not help a model, and a record of Kafka has a megabyte."""

ERROR_CHARACTERS = 4_000
"""Longest text of an error."""

NAME_CHARACTERS = 80
"""Characters of a name in a log: enough to recognize it."""

BESIDE = 200
"""Bytes reserved for the JSON around a text that is cut, and for the note about the cut."""


def result_of(content: Sequence[Mapping[str, Any]], structured: Any, cap: int = RESULT_BYTES) -> dict[str, Any]:
    """Return the result. `structured` is None if there is no structured content."""
    result: dict[str, Any] = {"content": []}
    left = cap
    for part in content:
        shown, size = part, _size(part)
        if size > left:
            shown = _shortened(part, left - BESIDE)
            size = _size(shown)
            result["truncated"] = True
        if size <= left:
            result["content"].append(shown)
            left -= size
    if structured is not None:
        fits = _size(structured) <= left
        result |= {"structuredContent": structured} if fits else {"truncated": True}
    return result


def error_of(content: Sequence[Mapping[str, Any]]) -> str:
    """Return what a tool says went wrong."""
    return "\n".join(_texts(content))[:ERROR_CHARACTERS] or "the tool failed without a word"


def plain(text: str, most: int = ERROR_CHARACTERS) -> str:
    """Return a server's words for a terminal or a log: one line, without control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in text[:most]).strip()


def quoted(name: str) -> str:
    """Return a name that a model or a client chose, for a log: quoted, without line breaks, and short."""
    return repr(plain(name, NAME_CHARACTERS))


def _texts(content: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    return (part["text"] for part in content if isinstance(part.get("text"), str))


def _size(value: Any) -> int:
    return len(msgspec.json.encode(value))


def _shortened(part: Mapping[str, Any], room: int) -> dict[str, Any]:
    """Return what replaces a part that does not fit."""
    text = part.get("text")
    if not isinstance(text, str):
        kind = part.get("mimeType") or part.get("type")
        return {"type": "text", "text": f"[{kind} of {_size(part)} bytes was left out]"}
    beginnings = range(min(max(room, 0), len(text)))
    kept = text[: max(bisect_right(beginnings, room, key=lambda end: _size(text[:end])) - 1, 0)]
    return {"type": "text", "text": f"{kept}\n[{len(text) - len(kept)} more characters were left out]"}
