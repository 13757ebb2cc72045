"""About how much memory options take: a tool list is by far the largest part of a small message."""

from collections.abc import Mapping
from typing import Any

# Measured with the allocator, for tools with long descriptions, many parameters, enumerations and deep schemas: these
# numbers say from a third to four fifths too much for what Python holds. A tool's validator, which its first call makes
# and the allocator of Python does not see, is about as large as the difference.

BYTE = 1.5
"""Of each encoded byte: all texts."""

SCALAR_BYTES = 70
"""Of a key, text or number beside its characters."""

CONTAINER_BYTES = 230
"""Of an object or a list beside what is in it."""

PARAMETER_BYTES = 1500
"""Of a tool's parameter beside what the list says: its types, as they are looked up and as `message-start` has them."""


def weight(value: Any, encoded: int) -> int:
    """Of a JSON value that takes so many bytes encoded."""
    containers, scalars, level = 0, 0, [value]
    while level:
        inner: list[Any] = []
        for item in level:
            if isinstance(item, Mapping):
                containers += 1
                scalars += len(item)
                inner += item.values()
            elif isinstance(item, list):
                containers += 1
                inner += item
            else:
                scalars += 1
        level = inner
    return int(encoded * BYTE) + scalars * SCALAR_BYTES + containers * CONTAINER_BYTES
