"""JSON schemas as the library reads them that checks values against them: its engine for patterns, OpenAPI's nulls, and
how much a check may cost.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from typing import Any
from urllib.parse import unquote

from tokenmill.limits import KIB

# Regular expressions that come from outside, in schemas: matched in linear time, whatever they are.
#
# The library brings such an engine. A pattern that it refuses (with lookaround or a back reference, or invalid) matches
# nothing. Linear time is not little: the engine may hold every character against each place of a compiled pattern, and
# thirty characters of a pattern compile to ten megabytes if they say so. Hence bounds on both.

PATTERN_COST = 1 * KIB
"""Cost of a pattern above which it is ignored, whoever asks: see `_cost`."""

PATTERNS_COST = 8 * KIB
"""Cost of all patterns of a schema that are compiled, the cheapest first: some tenths of a second where each character
stands for a large class, and a few milliseconds in tools as they are."""

_START, _FOLDED = 16, 16
"""What a pattern costs whatever it is, and how many characters one costs that ignores case."""

_IGNORES_CASE = re.compile(r"\(\?[a-zA-Z-]*i")
"""In these the engine looks up the other cases of a whole class, which takes milliseconds."""

KEY_PATTERN_BYTES = 5 * KIB
"""Bytes of a compiled pattern for keys, of which a value may have thousands: enough for `[a-z]{1,40}`. One above it
matches nothing."""

PATTERNS_BYTES = 256 * KIB
"""Bytes of all compiled patterns of a schema: those of large tools have some tens of kilobytes."""

TABLE_BYTES = 64 * KIB
"""Bytes of the table that the engine fills for a pattern while it matches, and keeps: nearly all need less. Unbounded,
those of a small schema took fifty megabytes. A pattern whose table is full is matched more slowly."""

MATCH_STEPS = 1 << 30
"""Bytes of compiled patterns times characters that they are held against: half a second, where the engine is slow."""

_SIZES = [KIB << shift for shift in range(9)]
"""Sizes that are tried to find that of a compiled pattern, up to `PATTERNS_BYTES`."""


def table_bytes(patterns: int) -> int:
    """Return how many bytes the tables of a schema's patterns take, at most."""
    return TABLE_BYTES * min(patterns, PATTERNS_COST // _START)


def _cost(pattern: str) -> int:
    """Return the cost of compiling a pattern, or of refusing it: its characters, and more where each takes long."""
    return _START + len(pattern) * (_FOLDED if _IGNORES_CASE.search(pattern) else 1)


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text, as JSON Schema means it."""
    compiled = _remembered(pattern) if _cost(pattern) <= PATTERN_COST else None
    try:
        return compiled is not None and bool(compiled.is_valid(text))
    except ValueError:  # text that can't be encoded
        return False


def compiled_for(schema: dict[str, Any], pattern_bytes: int = PATTERNS_BYTES) -> Any:
    """Return what checks values against a schema, of whose patterns each may have `pattern_bytes` when it is compiled.

    Raises `ValueError` or another error if the library can't read it.
    """
    import jsonschema_rs  # noqa: PLC0415 -- a quarter of the time of `import tokenmill`, for who has no schemas

    options = jsonschema_rs.RegexOptions(size_limit=max(pattern_bytes, 1), dfa_size_limit=TABLE_BYTES)
    try:
        return jsonschema_rs.validator_for(schema, offline=True, pattern_options=options)
    except jsonschema_rs.ReferencingError as problem:
        raise ValueError(str(problem)) from problem


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
    nor are those with which all together would be too large, take too long to compile, or take too long for so many
    characters. Raises as `compiled_for` does, and `ValueError` where such a pattern can't be left out.
    """
    steps = MATCH_STEPS // max(chars, 1)
    cheap = _cheap(held)
    if len(cheap) == len(held):
        with suppress(ValueError):
            return compiled_for(schema, min(PATTERNS_BYTES // len(held), steps // sum(held.values())))
    kept = _fitting({pattern: held[pattern] for pattern in cheap}, PATTERNS_BYTES, steps)
    read = patterns_read(schema, kept.__contains__)
    left = walked(read)[1].keys() - {_ANY_KEY}  # one may be where only a reference, or another draft, finds it
    if not left | walked(schema)[2] <= kept:
        raise ValueError("a pattern can't be left out")
    return compiled_for(read)


def _cheap(patterns: Iterable[str]) -> list[str]:
    """Return the patterns that may be compiled: the cheapest ones, up to `PATTERNS_COST` together."""
    costs = sorted((cost, pattern) for pattern in patterns if (cost := _cost(pattern)) <= PATTERN_COST)
    total = accumulate(cost for cost, _ in costs)
    return [pattern for (_, pattern), so_far in zip(costs, total, strict=True) if so_far <= PATTERNS_COST]


def _fitting(held: Mapping[str, int], size: int, steps: int) -> set[str]:
    """Return the smallest patterns that together have this size, and need so many steps for a character, at most."""
    kept = set[str]()
    for own, pattern in sorted((_size(pattern), pattern) for pattern in held):
        if own <= size and own * held[pattern] <= steps:
            kept.add(pattern)
            size, steps = size - own, steps - own * held[pattern]
    return kept


@lru_cache(maxsize=1024)
def _size(pattern: str) -> int:
    """Return how many bytes a pattern has once it is compiled, rounded up; too many for one that the engine refuses."""
    at = bisect_left(_SIZES, 1, key=lambda size: compiled_pattern(pattern, size) is not None)
    return _SIZES[at] if at < len(_SIZES) else PATTERNS_BYTES + 1


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
_NAMED = frozenset({"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose value is a schema, a list of them, or some by name."""

_ROOT = frozenset({"$defs", "$id", "$schema", "definitions"})
_NULL = {"type": "null"}


def is_nullable(schema: Mapping[str, Any]) -> bool:
    """Whether the value may be null, too, by OpenAPI's keyword."""
    return schema.get("nullable") is True


def nulls_allowed(schema: Any) -> Any:
    """Return the schema with a null wherever it is nullable. Raises `RecursionError` if it is nested too deep."""
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
    """Return the value of a schema's keyword, with what `read` returns for each schema in it."""
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
    return {keyword: _or_null(keyword, value) if keyword in _PLACES else value for keyword, value in schema.items()}


def _one_null(said: Mapping[str, Any], found: dict[str, Any], branches: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Return the schema with branches of which only one may take a null: several that do would refuse it."""
    if "oneOf" not in found:
        return found
    nullable = [isinstance(branch, Mapping) and is_nullable(branch) for branch in said["oneOf"]]
    if sum(nullable) + (len(found["oneOf"]) > len(branches)) < 2:  # noqa: PLR2004 -- one may
        return found
    chosen = [without if may else allowed for may, (allowed, without) in zip(nullable, branches, strict=True)]
    return {**found, "oneOf": [*chosen, _NULL]}


_PLACES = {"type": "null", "enum": None, "anyOf": _NULL, "oneOf": _NULL}
"""Keywords whose list may have a null, and how it is written there."""


def _or_null(keyword: str, value: Any) -> Any:
    values = [value] if keyword == "type" and isinstance(value, str) else value
    null = _PLACES[keyword]
    return [*values, null] if isinstance(values, list) and null not in values else value


# Patterns that are not checked: without them, the rest of the schema still is.

_ANY_KEY = ""
"""A pattern of keys that fits all."""


def patterns_read(schema: Any, kept: Callable[[str], bool]) -> Any:
    """Return the schema with the kept patterns only. Others may name any key, and let several of `oneOf` fit."""
    if not isinstance(schema, Mapping):
        return schema
    found = {
        keyword: _inside(keyword, value, lambda inner: patterns_read(inner, kept)) for keyword, value in schema.items()
    }
    if isinstance(found.get("oneOf"), list):
        found["allOf"] = [*found.get("allOf", []), {"anyOf": found.pop("oneOf")}]
    if isinstance(pattern := found.get("pattern"), str) and not kept(pattern):
        del found["pattern"]
    if isinstance(names := found.get("patternProperties"), Mapping):
        read = {name: inner for name, inner in names.items() if kept(name)}
        found["patternProperties"] = read if len(read) == len(names) else {_ANY_KEY: {}, **read}
    return found


# How much work a schema may be for a check of arguments: a bound, because both come from outside.
#
# A validator follows every alternative for every value. So a schema whose references branch, or lead back to
# themselves, can take unlimited time. Above the bound nothing is checked.

SCHEMA_NODES = 20_000
"""Parts of a schema with every reference followed: a hundred times the number in large tools."""

_HERE = frozenset(
    {
        *("$ref", "allOf", "anyOf", "contains", "dependencies", "dependentSchemas"),
        *("else", "if", "not", "oneOf", "then"),
    }
)
"""Keywords whose schemas an `unevaluated…` beside or around them asks which parts of the value they have covered."""

_REFUSING = frozenset({"contains", "if", "not"})
"""Keywords that may refuse a value because it fits a schema inside. Without a pattern of that, more would fit."""

_ASKED = 2
"""How often, at most, a schema that is asked is checked against the value, to find whether its coverage counts."""

_UNEVALUATED = frozenset({"unevaluatedItems", "unevaluatedProperties"})
_DYNAMIC = ("$dynamicRef", "$recursiveRef")


def walked(schema: Mapping[str, Any]) -> tuple[int, Counter[str], set[str]]:
    """Return the number of parts of a schema with its references followed, how often each of its patterns is held
    against a value, and which of them may refuse a value by fitting it.

    The number is `SCHEMA_NODES` + 1 at most. A part that is checked against a value several times counts as often. A
    circle has more parts, and so has a reference that may lead anywhere: the library knows kinds that are not followed
    here.
    """
    left, named, referred, patterns, refusing = SCHEMA_NODES, False, False, Counter[str](), set[str]()
    stack: list[tuple[Any, int, int, bool]] = [(schema, 1, 0, False)]  # how often it is held against a value, and asked
    while stack and left >= 0:
        part, times, asked, refuses = stack.pop()
        left -= times
        if isinstance(part, list):
            stack.extend([(inner, times, asked, refuses) for inner in part])
        elif isinstance(part, Mapping):
            asked += 0 if _UNEVALUATED.isdisjoint(part) else times
            here = times + _ASKED * asked, asked
            stack.extend(
                (inner, *(here if keyword in _HERE else (times, 0)), refuses or keyword in _REFUSING)
                for keyword, inner in part.items()
            )
            found = dict.fromkeys(_patterns(part), times)
            patterns.update(found)
            refusing.update(found if refuses else ())
            named = named or (part is not schema and _is_named(part, schema))
            for target in _referred(part, schema):
                referred = True
                stack.append((target, *here, refuses))
                left -= SCHEMA_NODES + 1 if target is None else 0
    return SCHEMA_NODES + 1 if left < 0 or (named and referred) else SCHEMA_NODES - left, patterns, refusing


def _patterns(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield the patterns of a part of a schema, of texts and of names."""
    if isinstance(pattern := part.get("pattern"), str):
        yield pattern
    if isinstance(names := part.get("patternProperties"), Mapping):
        yield from names


def _referred(part: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Any]:
    """Yield where the references of a schema lead; None for one that may lead anywhere."""
    if isinstance(reference := part.get("$ref"), str):
        yield resolve(reference, root) if reference == "#" or reference.startswith("#/") else None
    if any(isinstance(part.get(keyword), str) for keyword in _DYNAMIC):
        yield None


def _is_named(part: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether references inside a schema refer to it instead of the root."""
    old = "draft-04" in str(root.get("$schema"))
    return any(isinstance(part.get(keyword), str) for keyword in ("$id", "$schema", *(["id"] if old else [])))


def resolve(reference: str, root: Mapping[str, Any]) -> Any:
    """Resolve a reference inside the schema, `#/$defs/Name`, `#/anyOf/0` or `#`; None if it leads nowhere."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    path = unquote(reference).removeprefix("#").removeprefix("/")
    for step in path.split("/") if path else ():
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(key)] if key.isdecimal() and len(key) < _INDEX_DIGITS and int(key) < len(found) else None
        else:
            found = found.get(key) if isinstance(found, Mapping) else None
    return found


_INDEX_DIGITS = 10
"""Digits of a position in a list, exclusive."""
