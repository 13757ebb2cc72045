"""Messages of a history for servers of another shape: arguments of calls, text in one piece, reasoning."""

from typing import Any

import msgspec

from tokenmill.apis.ask import Json

REASONING = frozenset({"reasoning_content", "reasoning"})
"""What an assistant thought, in chats."""


def read_arguments(text: Any) -> dict[str, Any]:
    """The object that a text of arguments is; what is none is an argument by itself, so that nothing is lost."""
    if isinstance(text, dict):
        return text
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {"arguments": text}


def text_of(message: Json) -> str:
    """All text of a message, the words of a refusal included."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return "".join(said_by(part) for part in parts) or message.get("refusal") or ""


def said_by(part: Json) -> str:
    """The text of one part; empty for an image."""
    return part.get("text") or part.get("refusal") or ""


def reasoning_of(message: Json) -> str | None:
    """What an assistant thought, by either of its names; None: nothing."""
    return message.get("reasoning_content") or message.get("reasoning") or None
