"""Tagged parameters against the tool: arguments one level too deep, as JSON instead, unknown, missing or repeated."""

from collections.abc import Mapping
from typing import Any

from tokenmill.parser.coerce import read_typed
from tokenmill.parser.repair import decode_json
from tokenmill.parser.rules import Rules

WRAPPERS = frozenset({"arguments", "input", "parameters", "properties"})
"""Names that models give to a single parameter that holds all arguments."""

_OBJECT = frozenset({"object"})


def may_wrap(rules: Rules, tool: str, key: str) -> bool:
    """Whether a parameter is not the tool's own and may hold all of its arguments."""
    own = rules.parameters(tool)
    return key in WRAPPERS and bool(own) and key not in own


def unwrapped(rules: Rules, tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The arguments without a wrapper around them: a parameter without a name, or one of which the tool knows all that
    it holds.

    And whether what it held had to be repaired. Raises `ValueError` if a parameter without a name holds no arguments.
    """
    if "" in arguments:
        return _nameless(arguments)
    if len(arguments) != 1:
        return arguments, False
    ((key, value),) = arguments.items()
    if not may_wrap(rules, tool, key):
        return arguments, False
    inner, repaired = read_typed(value, _OBJECT) if isinstance(value, str) else (value, False)
    if isinstance(inner, Mapping) and inner.keys() <= rules.parameters(tool):
        return dict(inner), repaired
    return arguments, False


def _nameless(arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    value = arguments[""]
    inner, repaired = read_typed(value, _OBJECT) if isinstance(value, str) else (value, False)
    if len(arguments) > 1 or not isinstance(inner, dict):
        raise ValueError("a parameter has no name")
    return inner, repaired


def read_object(text: str) -> tuple[dict[str, Any], bool]:
    """The arguments of a call without parameters: the JSON object in their place, or none.

    Raises `ValueError` if what begins like an object can't be read as one.
    """
    if not text.lstrip().startswith("{"):
        return {}, False
    value, repaired = decode_json(text)
    if not isinstance(value, dict):
        raise ValueError("the arguments are no JSON object")  # noqa: TRY004 -- what the source says is wrong, not a type
    return value, repaired


def fitting(rules: Rules, tool: str, arguments: dict[str, Any], repeated: int = 0) -> dict[str, Any]:
    """The arguments that the tool has. Raises `ValueError` if one is repeated or one that is required is missing."""
    if repeated:
        raise ValueError("a parameter is repeated")
    own = rules.parameters(tool)
    if missing := sorted(rules.required(tool) - arguments.keys()):
        raise ValueError(f"required parameters are missing: {', '.join(missing)}")
    return {key: value for key, value in arguments.items() if key in own} if own else arguments
