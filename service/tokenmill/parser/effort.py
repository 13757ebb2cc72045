"""How much work it may be to hold arguments against a schema: a bound, because both come from outside.

A validator follows every alternative for every value, so a schema whose references branch, or lead back to themselves,
can cost more than any time there is. What is above the bound is not checked.
"""

from collections.abc import Mapping
from typing import Any

from tokenmill.parser.schema import resolve

SCHEMA_NODES = 20_000
"""Parts of a schema with every reference followed: a hundred times what large tools have."""

STEPS = 2_000_000
"""Parts of the schema times parts of the arguments: some tens of milliseconds."""


def schema_nodes(schema: Mapping[str, Any]) -> int:
    """The parts of a schema with its references followed; of a circle, as of all too large, `SCHEMA_NODES` and one."""
    left = SCHEMA_NODES
    stack: list[Any] = [schema]
    while stack and left >= 0:
        part = stack.pop()
        left -= 1
        if isinstance(part, Mapping):
            stack.extend(part.values())
            reference = part.get("$ref")
            if isinstance(reference, str):
                stack.append(schema if reference == "#" else resolve(reference, schema))
        elif isinstance(part, list):
            stack.extend(part)
    return SCHEMA_NODES - left


def value_nodes(value: Any) -> int:
    """The parts of a JSON value."""
    count, stack = 1, [value] if isinstance(value, _NESTS) else []
    while stack:
        part = stack.pop()
        items = part.values() if isinstance(part, dict) else part
        count += len(items)
        stack += [item for item in items if isinstance(item, _NESTS)]
    return count


_NESTS = (dict, list)
"""What a JSON value's parts are in."""
