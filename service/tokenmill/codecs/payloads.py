"""What a record of a streaming protocol carries: one JSON object, or whole lines of an SSE stream."""

from collections.abc import Callable, Iterator
from typing import Any

from tokenmill.codecs.plain import check_plain, read_object
from tokenmill.errors import Undecodable
from tokenmill.limits import KEY_BYTES

DONE = b"[DONE]"
"""The end of a stream, in protocols that have it and at proxies that add it to all."""

MODEL_CHARS = 256
"""Of a model's name, which comes back in events: the longest are paths of checkpoints."""

STATUSES = range(400, 600)
"""Those of a refusal or a failure."""

STATUS_CHARS = 3

_FRAMING = (b":", b"event:", b"id:", b"retry:")


def payloads(value: bytes) -> Iterator[bytes]:
    """The record itself, or the data of its lines. Raises `Undecodable` at a line that is no SSE."""
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
    """A text, or nothing where there is none."""
    return value if isinstance(value, str) else ""


def object_of(value: Any) -> dict[str, Any]:
    """An object, or an empty one where there is none."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """A list, or an empty one where there is none."""
    return value if isinstance(value, list) else []


def index_of(value: Any) -> int:
    """A number from 0; 0 where there is none."""
    return value if type(value) is int and 0 <= value < 2**31 else 0


def identity_of(value: Any) -> str:
    """A message's id, or nothing where there is none. Raises `Undecodable` for one that is too long."""
    found = text_of(value)
    if len(found.encode(errors="replace")) > KEY_BYTES:
        raise Undecodable(f"the answer's id is longer than {KEY_BYTES} bytes")
    return found


def model_of(value: Any) -> str | None:
    """A model's name, if there is one."""
    return text_of(value)[:MODEL_CHARS] or None


def status_of(code: Any) -> int | None:
    """The status of HTTP that an error's code is, as a number or as text; None for a word or another number."""
    if isinstance(code, str) and len(code) == STATUS_CHARS and code.isascii() and code.isdecimal():
        code = int(code)
    return code if type(code) is int and code in STATUSES else None


def error_of(error: Any) -> str:
    """What an error object of a provider says."""
    fields = object_of(error)
    words = [fields.get(name) for name in ("type", "status", "message")]
    return ": ".join(word for word in words if isinstance(word, str) and word) or shown(error)


def shown(value: Any, write: Callable[[Any], str] = str) -> str:
    """What stands in an error's place, as text; of what is no plain value, why it can't be shown.

    To write what is nested too deep raises, and the error, which ends a message, must not get lost.
    """
    try:
        check_plain(value, "error")
    except Undecodable as problem:
        return f"the provider failed, and {problem}"
    return write(value)
