"""The content of a streaming protocol's record: one JSON object, or whole lines of an SSE stream."""

from collections.abc import Callable, Iterator
from typing import Any

from tokenmill.codecs.plain import check_plain, read_object
from tokenmill.errors import Undecodable
from tokenmill.limits import KEY_BYTES, MODEL_CHARS

DONE = b"[DONE]"
"""End of a stream, in protocols that have it and from proxies that add it to all."""

STATUSES = range(400, 600)
"""HTTP statuses of a refusal or a failure."""

STATUS_CHARS = 3

_FRAMING = (b":", b"event:", b"id:", b"retry:")


def payloads(value: bytes) -> Iterator[bytes]:
    """The record itself, or the data of its lines. Raises `Undecodable` at a line that is not SSE."""
    value = value.strip()
    if value.startswith((b"{", b"[")):
        yield value
        return
    for line in value.splitlines():
        if line.startswith(b"data:"):
            if data := line[5:].strip():
                yield data
        elif line.strip() and not line.startswith(_FRAMING):
            raise Undecodable(f"neither a JSON object nor a line of an SSE stream: {line[:50]!r}")


def read_event(data: bytes, what: str) -> dict[str, Any]:
    """An event with a `type`. Raises `Undecodable`."""
    event = read_object(data, what)
    if not isinstance(event.get("type"), str):
        raise Undecodable(f"not {what}: it has no `type`")
    return event


def text_of(value: Any) -> str:
    """The value if it is text, else an empty text."""
    return value if isinstance(value, str) else ""


def object_of(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def index_of(value: Any) -> int:
    """The value if it is a number from 0, else 0."""
    return value if type(value) is int and 0 <= value < 2**31 else 0


def identity_of(value: Any) -> str:
    """A message's id, empty if there is none. Raises `Undecodable` for one that is too long."""
    found = text_of(value)
    if len(found.encode(errors="replace")) > KEY_BYTES:
        raise Undecodable(f"the answer's id is longer than {KEY_BYTES} bytes")
    return found


def model_of(value: Any) -> str | None:
    """A model's name, if there is one."""
    return text_of(value)[:MODEL_CHARS] or None


def status_of(code: Any) -> int | None:
    """An error's code, a number or text, as HTTP status; None for a word or any other number."""
    if isinstance(code, str) and len(code) == STATUS_CHARS and code.isascii() and code.isdecimal():
        code = int(code)
    return code if type(code) is int and code in STATUSES else None


def error_of(error: Any) -> str:
    """The text of a provider's error object."""
    fields = object_of(error)
    words = [fields.get(name) for name in ("type", "status", "message")]
    return ": ".join(word for word in words if isinstance(word, str) and word) or shown(error)


def shown(value: Any, write: Callable[[Any], str] = str) -> str:
    """An error of any shape as text; for a value that is not plain, the reason why it can't be shown.

    Writing a value that is nested too deep raises, but the error, which ends a message, must not get lost.
    """
    try:
        check_plain(value, "error")
    except Undecodable as problem:
        return f"the provider failed, and {problem}"
    return write(value)
