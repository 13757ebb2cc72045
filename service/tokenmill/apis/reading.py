"""Values of a request's body, each with its place, so that a refusal names the place of the fault.

1. Types are as strict as JSON's: true is not a number, and 1.0 is not an integer.
2. Null is the same as absent, everywhere.
3. What a client sent is quoted if it is short and printable: a refusal is one sentence, and a line of a log.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from tokenmill.apis.ask import BadAsk, Json
from tokenmill.dialects.json_text import json_bytes
from tokenmill.limits import KEY_BYTES

SHOWN = 80
"""Characters of what a client sent that a refusal quotes."""

PATH_CHARS = 200
"""Characters of a place: enough for every known field, with room for numbers."""

MOST = 2**53 - 1
"""The largest count: every reader of JSON can hold it."""

Read = TypeVar("Read")

_KINDS: Mapping[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    type(None): "nothing",
}


def shown(text: str) -> str:
    """Return what a client sent in the form that a refusal may quote: cut, and without control characters."""
    cut = text if len(text) <= SHOWN else text[:SHOWN] + "…"
    return repr(printable(cut))


def printable(text: str) -> str:
    """Return text without control characters."""
    return "".join(char if char.isprintable() else "�" for char in text)


class Node(msgspec.Struct, frozen=True):
    """A value in the body, and its place."""

    value: Any
    path: str = ""

    def bad(self, message: str, code: str = "invalid_value") -> BadAsk:
        """Return the refusal of this value; the message continues after its place."""
        place = printable(self.path[:PATH_CHARS])
        return BadAsk(f"`{place}` {message}" if place else f"The body {message}", place, code)

    def unfit(self, wanted: str) -> BadAsk:
        """Return the refusal of a value of another type."""
        return self.bad(f"has to be {wanted}, not {_KINDS.get(type(self.value), 'that')}.", "invalid_type")

    @property
    def absent(self) -> bool:
        """Whether the value is absent or null."""
        return self.value is None

    def at(self, name: str) -> "Node":
        """Return a member, absent or not, of an object."""
        value = self.object().get(name)
        return Node(value, f"{self.path}.{name}" if self.path else name)

    def need(self, name: str) -> "Node":
        """Return a member that is required."""
        member = self.at(name)
        if member.absent:
            raise member.bad("is missing.", "missing_required_parameter")
        return member

    def maybe(self, name: str, read: Callable[["Node"], Read]) -> Read | None:
        """Return a member as `read` reads it; None if it is absent."""
        member = self.at(name)
        return None if member.absent else read(member)

    def members(self) -> Json:
        """Return the members of an object, without those that are null."""
        return {name: value for name, value in self.object().items() if value is not None}

    def only(self, *names: str) -> None:
        """Refuse members of any other name."""
        for name, value in self.object().items():
            if name not in names and value is not None:
                wrong = self.at(name)
                raise wrong.bad(f"is not supported here; known are {', '.join(names)}.", "unknown_parameter")

    # Types

    def object(self) -> Json:
        """Return the value, which must be an object."""
        if not isinstance(self.value, dict):
            raise self.unfit("an object")
        return self.value

    def items(self) -> Iterator["Node"]:
        """Yield the items of a list."""
        if not isinstance(self.value, list):
            raise self.unfit("a list")
        return (Node(item, f"{self.path}[{number}]") for number, item in enumerate(self.value))

    def some(self) -> list["Node"]:
        """Return the items of a list that is not empty."""
        if found := list(self.items()):
            return found
        raise self.bad("is an empty list.")

    def text(self) -> str:
        """Return the value, which must be a string."""
        if not isinstance(self.value, str):
            raise self.unfit("a string")
        return self.value

    def filled(self) -> str:
        """Return the value, which must be a string that is not empty."""
        if text := self.text():
            return text
        raise self.bad("is empty.")

    def key(self) -> str:
        """Return the value, which must be a string that may name a conversation: the key of records."""
        text = self.filled()
        if len(text) > KEY_BYTES or len(text.encode(errors="replace")) > KEY_BYTES:
            raise self.bad(f"is longer than {KEY_BYTES} bytes.")
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise self.bad("has half a surrogate pair in it.")
        return text

    def word(self, *words: str) -> str:
        """Return the value, which must be one of these words."""
        text = self.text()
        if text not in words:
            raise self.bad(f"can't be {shown(text)}; known are {', '.join(words)}.")
        return text

    def flag(self) -> bool:
        """Return the value, which must be true or false."""
        if not isinstance(self.value, bool):
            raise self.unfit("a boolean")
        return self.value

    def whole(self, least: int = 1, most: int = MOST) -> int:
        """Return the value, which must be an integer within these bounds."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self.unfit("an integer")
        if not least <= self.value <= most:
            raise self.bad(f"has to be from {least} to {most}.")
        return self.value

    def number(self, least: float, most: float) -> float:
        """Return the value, which must be a number within these bounds."""
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            raise self.unfit("a number")
        if not least <= self.value <= most:
            raise self.bad(f"has to be from {least:g} to {most:g}.")
        return float(self.value)

    def json(self) -> str:
        """Return the value as JSON text, whatever it is."""
        try:
            return json_bytes(self.value).decode()
        except (RecursionError, ValueError) as error:  # too deep, or a number of thousands of digits
            raise self.bad("can't be written as JSON: it is nested too deep, or holds too large a number.") from error


def is_deeper(value: Any, most: int) -> bool:
    """Whether a JSON value is nested deeper than that; it is read level by level, as recursion could fail."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(most):
        inner = (each for item in level for each in (item.values() if isinstance(item, dict) else item))
        level = [each for each in inner if isinstance(each, dict | list)]
    return bool(level)


def holds_more(value: Any, most: int) -> bool:
    """Whether a JSON value holds more values than that, in all its lists and objects together."""
    found, inner = 0, [value]
    while inner:
        item = inner.pop()
        if isinstance(item, dict | list):
            found += len(item)
            if found > most:
                return True
            inner += item.values() if isinstance(item, dict) else item
    return False


def numbers(body: Node, ranges: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Return the numbers in the body, each within the range of its name."""
    return {name: node.number(*ranges[name]) for name in ranges if not (node := body.at(name)).absent}
