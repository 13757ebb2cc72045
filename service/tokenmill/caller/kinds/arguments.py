"""Messages of a history for servers of another shape: arguments of calls, their ids, text in one piece, reasoning."""

import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import msgspec

from tokenmill.apis.ask import Json

REASONING = frozenset({"reasoning_content", "reasoning"})
"""What an assistant thought, in chats."""


SHORT_ID = re.compile("[A-Za-z0-9]{9}")
"""What the templates and the API of Mistral's models take for the id of a call."""


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


def images_of(message: Json) -> list[Json]:
    """Its parts that are images."""
    content = message.get("content")
    return [part for part in content if part.get("type") == "image_url"] if isinstance(content, list) else []


def reasoning_of(message: Json) -> str | None:
    """What an assistant thought, by either of its names; None: nothing."""
    return message.get("reasoning_content") or message.get("reasoning") or None


def with_reasoning(message: Json, names: Iterable[str]) -> Json:
    """A message with what an assistant thought by these names alone, if it has any."""
    if message["role"] != "assistant" or not REASONING & message.keys():
        return message
    thought = reasoning_of(message)
    rest = {field: value for field, value in message.items() if field not in REASONING}
    return rest | (dict.fromkeys(names, thought) if thought else {})


def with_short_ids(messages: list[Json]) -> list[Json]:
    """The conversation with ids of calls that fit `SHORT_ID`; a result keeps that of its call."""
    return [_with_short_ids(message) for message in messages]


def _with_short_ids(message: Json) -> Json:
    changed: Json = {}
    if message.get("tool_calls"):
        changed["tool_calls"] = [fitted(call, "id", SHORT_ID, 9) for call in message["tool_calls"]]
    return fitted(message | changed, "tool_call_id", SHORT_ID, 9)


def fitted(said: Json, name: str, fits: re.Pattern[str], size: int) -> Json:
    """What is said, where that member is an id that does not fit with a hash of this size in its place."""
    unfit = said.get(name)
    if not isinstance(unfit, str) or not unfit or fits.fullmatch(unfit):
        return said
    return said | {name: sha256(unfit.encode(errors="surrogatepass")).hexdigest()[:size]}
