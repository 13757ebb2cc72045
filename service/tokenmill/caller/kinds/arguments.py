"""Converts messages of a history for servers: arguments and ids of calls, text as one string, reasoning."""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import msgspec

from tokenmill.apis.ask import Json

REASONING = frozenset({"reasoning_content", "reasoning"})
"""Members of a chat's message with the assistant's reasoning."""


SHORT_ID = re.compile("[A-Za-z0-9]{9}")
"""Ids of calls that the templates and the API of Mistral's models take."""


def read_arguments(text: Any) -> dict[str, Any]:
    """Return a call's arguments as an object.

    A text that is not one becomes the argument `arguments`: nothing is lost.
    """
    if isinstance(text, dict):
        return text
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {"arguments": text}


def text_of(message: Json) -> str:
    """Return all text of a message, including that of a refusal."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return "".join(text_of_part(part) for part in parts) or message.get("refusal") or ""


def text_of_part(part: Json) -> str:
    """Return the text of one part; empty for an image."""
    return part.get("text") or part.get("refusal") or ""


def images_of(message: Json) -> list[Json]:
    """Return the parts of a message that are images."""
    content = message.get("content")
    return [part for part in content if part.get("type") == "image_url"] if isinstance(content, list) else []


def reasoning_of(message: Json) -> str | None:
    """Return the reasoning of a message, which has one of two names; None if there is none."""
    return message.get("reasoning_content") or message.get("reasoning") or None


def with_reasoning(message: Json, names: Iterable[str]) -> Json:
    """Return a message with the assistant's reasoning under these names alone, if it has reasoning."""
    if message["role"] != "assistant" or not REASONING & message.keys():
        return message
    reasoning = reasoning_of(message)
    rest = {field: value for field, value in message.items() if field not in REASONING}
    return rest | (dict.fromkeys(names, reasoning) if reasoning else {})


def with_short_ids(messages: list[Json]) -> list[Json]:
    """Return messages in which all ids of calls fit `SHORT_ID`. A result still has the id of its call."""
    return [_with_short_ids(message) for message in messages]


def _with_short_ids(message: Json) -> Json:
    changed: Json = {}
    if message.get("tool_calls"):
        changed["tool_calls"] = [fitted(call, "id", SHORT_ID, 9) for call in message["tool_calls"]]
    return fitted(message | changed, "tool_call_id", SHORT_ID, 9)


def fitted(value: Json, name: str, fits: re.Pattern[str], size: int) -> Json:
    """Return an object whose member `name` is an id; one that does not fit is replaced by `size` digits of its hash."""
    unfit = value.get(name)
    if not isinstance(unfit, str) or not unfit or fits.fullmatch(unfit):
        return value
    return value | {name: sha256(unfit.encode(errors="surrogatepass")).hexdigest()[:size]}
