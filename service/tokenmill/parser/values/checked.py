"""JSON schemas and the library that checks values against them: which schemas it can read, and its engine for
patterns.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from tokenmill.limits import KIB

# Regular expressions that come from outside, in schemas: matched in linear time, whatever they are.
#
# The library brings such an engine. A pattern that it refuses (with lookaround or a back reference, or invalid) matches
# nothing. Linear time is not little: the engine may hold every character against each place of a compiled pattern, and
# thirty characters of a pattern compile to ten megabytes if they say so. Hence bounds on both.

PATTERN_CHARS = 1024
"""Characters of a pattern before it is ignored: compiled ones take memory."""

KEY_PATTERN_BYTES = 5 * KIB
"""Bytes of a compiled pattern for keys, of which a value may have thousands: enough for `[a-z]{1,40}`. One above it
matches nothing."""

PATTERNS_BYTES = 256 * KIB
"""Bytes of all compiled patterns of a schema: those of large tools have some tens of kilobytes."""

MATCH_STEPS = 1 << 30
"""Bytes of compiled patterns times characters that they are held against: half a second, where the engine is slow."""

_SIZES = [KIB << shift for shift in range(9)]
"""Sizes that are tried to find that of a compiled pattern, up to `PATTERNS_BYTES`."""


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text, as JSON Schema means it."""
    compiled = _remembered(pattern) if len(pattern) <= PATTERN_CHARS else None
    try:
        return compiled is not None and bool(compiled.is_valid(text))
    except ValueError:  # text that can't be encoded
        return False


def compiled_for(schema: dict[str, Any], pattern_bytes: int = PATTERNS_BYTES) -> Any:
    """Return what checks values against a schema, of whose patterns each may have `pattern_bytes` when it is compiled.

    Raises `ValueError` or another error if the library can't read it.
    """
    import jsonschema_rs  # noqa: PLC0415 -- a quarter of the time of `import tokenmill`, for who has no schemas

    options = jsonschema_rs.RegexOptions(size_limit=max(pattern_bytes, 1))
    return jsonschema_rs.validator_for(schema, offline=True, pattern_options=options)


def compiled_pattern(pattern: str, most: int = PATTERNS_BYTES) -> Any:
    """Return what finds a pattern in a text; None if the engine refuses it, or it has more than `most` bytes then."""
    try:
        return compiled_for({"pattern": pattern}, most)
    except ValueError:
        return None


@lru_cache(maxsize=256)
def _remembered(pattern: str) -> Any:
    return compiled_pattern(pattern, KEY_PATTERN_BYTES)


def checkable(schema: dict[str, Any], held: Mapping[str, int], chars: int) -> Any:
    """Return what checks values with this many characters against a schema.

    `held` is how often each of its patterns is held against a value. Patterns that the engine refuses are not checked,
    nor are those with which all together would be too large, or take too long for so many characters. Raises as
    `compiled_for` does.
    """
    steps = MATCH_STEPS // max(chars, 1)
    try:
        return compiled_for(schema, min(PATTERNS_BYTES // len(held), steps // sum(held.values())))
    except ValueError:
        kept = _fitting(held, PATTERNS_BYTES, steps)
        return compiled_for(patterns_read(schema, kept.__contains__))


def _fitting(held: Mapping[str, int], size: int, steps: int) -> frozenset[str]:
    """Return the patterns that together have at most this size, and need at most as many steps for a character: the
    smallest ones.
    """
    kept = set()
    for own, pattern in sorted((_size(pattern), pattern) for pattern in held):
        if own <= size and own * held[pattern] <= steps:
            kept.add(pattern)
            size, steps = size - own, steps - own * held[pattern]
    return frozenset(kept)


def _size(pattern: str) -> int:
    """Return how many bytes a pattern has once it is compiled, rounded up; too many for one that the engine refuses."""
    return next((size for size in _SIZES if compiled_pattern(pattern, size) is not None), PATTERNS_BYTES + 1)


# OpenAPI's `nullable: true`, written in JSON Schema: validators ignore that keyword, and would refuse a null.
#
# Nothing moves that a reference may point to, except what is beside a `$ref` or an `allOf`.

_ONE = frozenset(
    {
        *("additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
_SEVERAL = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value is a schema, a list of them, or some by name."""

_ROOT = frozenset({"$defs", "$id", "$schema", "definitions"})
_NULL = {"type": "null"}


def is_nullable(schema: Mapping[str, Any]) -> bool:
    """Whether the value may be null, too, by OpenAPI's keyword."""
    return schema.get("nullable") is True


def nulls_allowed(schema: Any) -> Any:
    """Return the schema with a null wherever it is nullable. Raises `RecursionError` for one that is nested too
    deep.
    """
    return _nulls(schema)[0]


def _nulls(schema: Any) -> tuple[Any, Any]:
    """Return the schema with its nulls, and the same without the null that it allows itself."""
    if not isinstance(schema, Mapping):
        return schema, schema
    said = schema.get("oneOf")
    branches = [_nulls(branch) for branch in said] if isinstance(said, list) else None
    found = {
        keyword: _inside(keyword, value, nulls_allowed)
        if keyword != "oneOf" or branches is None
        else [allowed for allowed, _ in branches]
        for keyword, value in schema.items()
    }
    both = _with_null(found) if is_nullable(schema) else found, found
    if branches is None:
        return both
    allowed, without = (_one_null(schema, each, branches) for each in both)
    return allowed, without


def _inside(keyword: str, value: Any, read: Callable[[Any], Any]) -> Any:
    if keyword in _NAMED and isinstance(value, Mapping):
        return {name: read(schema) for name, schema in value.items()}
    if keyword in _SEVERAL and isinstance(value, list):
        return [read(schema) for schema in value]
    return read(value) if keyword in _ONE else value


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema, or null. Only where it gives the type, or all alternatives, there is a place for a null."""
    if schema.keys() & {"$ref", "allOf", "const", "not"}:
        around = {keyword: value for keyword, value in schema.items() if keyword in _ROOT}
        return {**around, "anyOf": [{key: value for key, value in schema.items() if key not in around}, _NULL]}
    return {keyword: _PLACES[keyword](value) if keyword in _PLACES else value for keyword, value in schema.items()}


def _one_null(said: Mapping[str, Any], found: dict[str, Any], branches: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Return the schema with branches of which only one may take a null: several that do would refuse it."""
    if "oneOf" not in found:
        return found
    nullable = [isinstance(branch, Mapping) and is_nullable(branch) for branch in said["oneOf"]]
    if sum(nullable) + (len(found["oneOf"]) > len(branches)) < 2:  # noqa: PLR2004 -- one may
        return found
    chosen = [without if may else allowed for may, (allowed, without) in zip(nullable, branches, strict=True)]
    return {**found, "oneOf": [*chosen, _NULL]}


def _among(values: Any) -> Any:
    return [*values, None] if isinstance(values, list) and None not in values else values


def _typed(types: Any) -> Any:
    kinds = [types] if isinstance(types, str) else types
    return [*kinds, "null"] if isinstance(kinds, list) and "null" not in kinds else types


def _either(schemas: Any) -> Any:
    return [*schemas, _NULL] if isinstance(schemas, list) and _NULL not in schemas else schemas


_PLACES: dict[str, Callable[[Any], Any]] = {"type": _typed, "enum": _among, "anyOf": _either, "oneOf": _either}


# Patterns that are not checked: without them, the rest of the schema still is.


def patterns_read(schema: Any, kept: Callable[[str], bool]) -> Any:
    """Return the schema without the patterns that are not kept. Where one names keys, any key may be meant."""
    if not isinstance(schema, Mapping):
        return schema
    found = {
        keyword: _inside(keyword, value, lambda inner: patterns_read(inner, kept)) for keyword, value in schema.items()
    }
    if isinstance(pattern := found.get("pattern"), str) and not kept(pattern):
        del found["pattern"]
    if isinstance(names := found.get("patternProperties"), Mapping):
        read = {name: inner for name, inner in names.items() if kept(name)}
        found["patternProperties"] = read if len(read) == len(names) else {"": {}, **read}
    return found
