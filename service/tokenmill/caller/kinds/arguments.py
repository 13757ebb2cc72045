"""Arguments of calls in a history: text in OpenAI's shape, an object in the others."""

from typing import Any

import msgspec


def read_arguments(text: Any) -> dict[str, Any]:
    """The object that a text of arguments is; what is none is an argument by itself, so that nothing is lost."""
    if isinstance(text, dict):
        return text
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {"arguments": text}
