"""A tool's answer, for shapes that have a text for it."""

from typing import Any

from msgspec import UNSET

from tokenmill.dialects.json_text import json_bytes
from tokenmill.events import ToolResult


def result_text(event: ToolResult) -> str:
    """Return the result as a text: texts of the Model Context Protocol one after the other, anything else as JSON."""
    if event.error is not UNSET:
        return event.error
    result = None if event.result is UNSET else event.result
    if isinstance(result, str):
        return result
    texts = _texts(result.get("content")) if isinstance(result, dict) else None
    return json_bytes(result).decode() if texts is None else "\n".join(texts)


def _texts(content: Any) -> list[str] | None:
    """Return the texts of a list of content; None if it is not one, or has anything else."""
    if not content or not isinstance(content, list):
        return None
    parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    texts = [text for part in parts if isinstance(text := part.get("text"), str)]
    return texts if len(texts) == len(content) else None
