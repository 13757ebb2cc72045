"""A function call of Gemini whose arguments come in pieces, each with the JSON path of a value."""

import re
from itertools import pairwise
from typing import Any, TypeAlias

import msgspec

from tokenmill.errors import Undecodable
from tokenmill.limits import JSON_DEPTH, KIB

Json: TypeAlias = dict[str, Any]

ARGUMENT_BYTES = 256 * KIB
"""Bytes of all pieces of a call with their paths: the same as for a call."""

AHEAD = 16
"""Items of a list that may be missing before a given one: an index must not make room for items that never come."""

_STEP = re.compile(r"""\.(?P<key>[^.\[\]]+)|\[(?P<index>\d{1,5})\]|\[(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")


class PartialCall(msgspec.Struct, array_like=True, gc=False):
    """A call that is not complete."""

    id: str
    name: str
    arguments: Json = {}
    size: int = 0

    def add(self, pieces: list[Any]) -> None:
        """Add values, or pieces of them. Raises `Undecodable` for a path that leads nowhere, and above the cap."""
        for piece in pieces:
            if isinstance(piece, dict):
                self._put(_steps(piece.get("jsonPath")), piece)

    def _put(self, steps: list[str | int], piece: Json) -> None:
        kind = next((kind for kind in _VALUES if kind in piece), None)
        if kind is None:
            return
        value = None if kind == "nullValue" else piece[kind]
        self.size += len(piece["jsonPath"]) + (len(value) if isinstance(value, str) else 8)
        if self.size > ARGUMENT_BYTES:
            raise Undecodable(f"the arguments of a call have more than {ARGUMENT_BYTES} bytes")
        holder: Any = self.arguments
        for step, following in pairwise(steps):
            holder = _inside(holder, step, [] if isinstance(following, int) else {})
        known = _get(holder, steps[-1])
        _set(holder, steps[-1], known + value if isinstance(known, str) and isinstance(value, str) else value)


def _steps(path: Any) -> list[str | int]:
    """`$.a[0]['b']` as keys and indexes."""
    steps: list[str | int] = []
    rest = path.removeprefix("$") if isinstance(path, str) else ""
    rest = rest if rest.startswith((".", "[")) else f".{rest}"
    position = 0
    while found := _STEP.match(rest, position):
        key, index, single, double = found.groups()
        steps.append(
            int(index) if index is not None else next(text for text in (key, single, double) if text is not None)
        )
        position = found.end()
    if not steps or position < len(rest) or isinstance(steps[0], int) or len(steps) > JSON_DEPTH:
        raise Undecodable(f"no path of an argument: {path!r:.100}")
    return steps


def _inside(holder: Any, step: str | int, empty: Any) -> Any:
    """The object or list at a place, created if there is none."""
    found = _get(holder, step)
    if not isinstance(found, type(empty)):
        _set(holder, step, empty)
        return empty
    return found


def _get(holder: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return holder[step] if isinstance(holder, list) and step < len(holder) else None
    return holder.get(step) if isinstance(holder, dict) else None


def _set(holder: Any, step: str | int, value: Any) -> None:
    if isinstance(step, int) and isinstance(holder, list):
        if step > len(holder) + AHEAD:
            raise Undecodable(f"a list among the arguments of a call has no item {step - 1}, nor many before it")
        holder.extend([None] * (step + 1 - len(holder)))
        holder[step] = value
    elif isinstance(holder, dict):
        holder[str(step)] = value
