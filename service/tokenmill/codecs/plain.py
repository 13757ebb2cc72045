"""Values of any content, as providers send them: what of them JSON can say and a snapshot can hold."""

from typing import Any

from tokenmill.errors import Undecodable
from tokenmill.limits import JSON_DEPTH

_LOWEST, _HIGHEST = -(1 << 63), (1 << 64) - 1


def check_plain(value: Any, name: str, depth: int = 0) -> None:
    """Raise `Undecodable`, naming the field, for what is nested too deep, too large an integer, or no JSON value."""
    if depth == JSON_DEPTH and isinstance(value, dict | list):
        raise Undecodable(f"`{name}` is nested more than {JSON_DEPTH} deep")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise Undecodable(f"`{name}` has a key that is no string: {key!r:.50}")
            check_plain(item, name, depth + 1)
    elif isinstance(value, list):
        for item in value:
            check_plain(item, name, depth + 1)
    elif isinstance(value, int):
        if not _LOWEST <= value <= _HIGHEST:
            raise Undecodable(f"`{name}` has an integer of more than 64 bits")
    elif not isinstance(value, str | float | None):
        raise Undecodable(f"`{name}` has a value that JSON can't say: {type(value).__name__}")
