"""JSON schemas and the library that checks values against them: its engine for patterns, which schemas it can read, and
how much a check may cost.
"""

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any, TypeAlias
from urllib.parse import unquote

from tokenmill.limits import KIB, MIB
from tokenmill.parser.values.nullable import inside, nulls_allowed
from tokenmill.recent import Recent

# Regular expressions that come from outside, in schemas: matched in linear time, whatever they are.
#
# The library brings such an engine. A pattern that it refuses (with lookaround or a back reference, or invalid) matches
# nothing. Linear time is not little: the engine may hold every character against each place of a compiled pattern, and
# thirty characters of a pattern compile to ten megabytes if they say so. Hence bounds on both.

PATTERN_COST = 1 * KIB
"""Cost of a pattern above which it is ignored, whoever asks: see `_cost`."""

PATTERNS_COST = 8 * KIB
"""Cost of all patterns of a schema that are compiled, the cheapest first: some tenths of a second where each character
stands for a large class, and a few milliseconds in tools as they are.
"""

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
those of a small schema took fifty megabytes. A pattern whose table is full is matched more slowly.
"""

MATCH_STEPS = 1 << 30
"""Bytes of compiled patterns times characters that they are held against: half a second, where the engine is slow."""

_SIZES = [KIB << shift for shift in range(9)]
"""Sizes that are tried to find that of a compiled pattern, up to `PATTERNS_BYTES`."""


def _cost(pattern: str) -> int:
    """Return the cost of compiling a pattern, or of finding that it can't be: the number of its characters, and more
    where each takes long.
    """
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
    left = _walked(read)[1].keys() - {_ANY_KEY}  # one may be where only a reference, or another draft, finds it
    if not left | _walked(schema)[2] <= kept:
        raise ValueError("a pattern can't be left out")
    return compiled_for(read)


def _cheap(patterns: Iterable[str]) -> list[str]:
    """Return the patterns that may be compiled: the cheapest ones, up to `PATTERNS_COST` together."""
    costs = sorted((_cost(pattern), pattern) for pattern in patterns)
    total = accumulate(cost for cost, _ in costs)
    return [
        pattern
        for (cost, pattern), so_far in zip(costs, total, strict=True)
        if so_far <= PATTERNS_COST and cost <= PATTERN_COST
    ]


def _fitting(held: Mapping[str, int], size: int, steps: int) -> set[str]:
    """Return the patterns that together have at most this size, and need at most as many steps for a character: the
    smallest ones.
    """
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


# Patterns that are not checked: without them, the rest of the schema still is.

_ANY_KEY = ""
"""A pattern of keys that fits all."""


def patterns_read(schema: Any, kept: Callable[[str], bool]) -> Any:
    """Return the schema without the patterns that are not kept. Where one names keys, any key may be meant; where one
    of several schemas must fit, several may.
    """
    if not isinstance(schema, Mapping):
        return schema
    found = {
        keyword: inside(keyword, value, lambda inner: patterns_read(inner, kept)) for keyword, value in schema.items()
    }
    if isinstance(found.get("oneOf"), list):
        found["allOf"] = [*found.get("allOf", []), {"anyOf": found.pop("oneOf")}]
    if isinstance(pattern := found.get("pattern"), str) and not kept(pattern):
        del found["pattern"]
    if isinstance(names := found.get("patternProperties"), Mapping):
        read = {name: inner for name, inner in names.items() if kept(name)}
        found["patternProperties"] = read if len(read) == len(names) else {_ANY_KEY: {}, **read}
    return found


MESSAGE_CHARS = 400
"""Characters of a mismatch, which is one sentence. The library quotes the value, which may be a whole file."""


class Check:
    """Checks values against one schema. A schema that the library refuses checks nothing."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._nodes = 0
        """Parts of the schema."""
        self._validator_of: Callable[[Any], Any] | None = None
        """Returns the validator of a value; None if there is none."""
        with suppress(ValueError, TypeError, RecursionError):
            self._nodes, self._validator_of = _read(nulls_allowed(schema))

    def mismatch(self, arguments: Mapping[str, Any], most: int) -> str | None:
        """Return why the arguments do not fit the schema; None if they do, or if it can't be checked.

        `most` is the maximum number of parts in the arguments: those of a short source need not be counted.
        """
        nodes = self._nodes
        if self._validator_of is None or (nodes * most > STEPS < nodes * value_nodes(arguments)):
            return None
        try:
            validator = self._validator_of(arguments)
            if validator is None or validator.is_valid(arguments):  # nearly all are: no errors need be made
                return None
            for problem in validator.iter_errors(arguments):
                where = "/".join(str(step) for step in problem.instance_path)
                return (f"{where}: {problem.message}" if where else str(problem.message))[:MESSAGE_CHARS]
        except (ValueError, TypeError):  # text that can't be encoded
            return None
        return None


def _read(schema: dict[str, Any]) -> tuple[int, Callable[[Any], Any] | None]:
    """Return the number of a schema's parts, and what returns the validator of a value: None if there are too many."""
    nodes, held, _ = _walked(schema)
    if nodes > SCHEMA_NODES:
        return nodes, None
    if held:
        return nodes, partial(_validator, (json.dumps(schema), tuple(held.items())), nodes)
    validator = compiled_for(schema)
    return nodes, lambda _: validator


_Patterned: TypeAlias = tuple[str, tuple[tuple[str, int], ...]]
"""A schema as JSON, and how often each of its patterns is held against a value."""


def _validator(schema: _Patterned, nodes: int, value: Any) -> Any:
    """Return what checks a value against a schema with patterns; None if the library refuses the schema."""
    text, held = schema
    chars = 1 << max(value_chars(value), LEAST_CHARS).bit_length()
    if (kept := _validators.get((schema, chars))) is None:
        kept = [None]
        with suppress(ValueError, TypeError, RecursionError):
            kept = [checkable(json.loads(text), dict(held), chars)]
        tables = TABLE_BYTES * min(len(held), PATTERNS_COST // _START)
        _validators.put((schema, chars), kept, len(text) + NODE_BYTES * nodes + tables)
    return kept[0]


VALIDATORS, VALIDATORS_BYTES = 64, 64 * MIB
"""Number and bytes of validators with patterns that are kept for all messages."""

NODE_BYTES = 512
"""Bytes that a validator has for each part of a schema."""

_validators: Recent[tuple[_Patterned, int], list[Any]] = Recent(VALIDATORS, VALIDATORS_BYTES)
"""Validators by schema and by the length of what they check, on which it depends which patterns they have."""


# How much work the check of arguments against a schema may be: a bound, because both come from outside.
#
# A validator follows every alternative for every value. So a schema whose references branch, or lead back to
# themselves, can take unlimited time. Above the bound nothing is checked.

SCHEMA_NODES = 20_000
"""Parts of a schema with every reference followed: a hundred times the number in large tools."""

STEPS = 2_000_000
"""Parts of the schema times parts of the arguments: some tens of milliseconds."""

LEAST_CHARS = 1_000
"""Characters for which a validator of a schema with patterns is made, at least: nearly all arguments have fewer, and
need one only."""

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


def schema_nodes(schema: Mapping[str, Any]) -> int:
    """Return the number of parts of a schema with its references followed; `SCHEMA_NODES` plus one if there are more.

    A part that is checked against a value several times counts as often. A circle has more than the limit. So has a
    reference that may lead anywhere: the library knows more kinds of references than `_walked` follows.
    """
    return _walked(schema)[0]


def _walked(schema: Mapping[str, Any]) -> tuple[int, Counter[str], set[str]]:
    """Return the parts of a schema, how often each of its patterns is held against a value, and which of them may
    refuse a value by fitting it.
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


def value_nodes(value: Any) -> int:
    """Return the number of parts of a JSON value."""
    count, stack = 1, [value] if isinstance(value, _NESTS) else []
    while stack:
        part = stack.pop()
        items = part.values() if isinstance(part, dict) else part
        count += len(items)
        stack += [item for item in items if isinstance(item, _NESTS)]
    return count


def value_chars(value: Any) -> int:
    """Return the number of characters in a JSON value: those of its texts and names."""
    count, stack = 0, [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            count += len(part)
        elif isinstance(part, dict):
            stack += [*part, *part.values()]
        elif isinstance(part, list):
            stack += part
    return count


_NESTS = (dict, list)
"""Types that contain the parts of a JSON value."""


def resolve(reference: str, root: Mapping[str, Any]) -> Any:
    """Resolve a reference inside the schema: `#/$defs/Name`, `#/anyOf/0`, or `#` for all of it; None if it leads
    nowhere.
    """
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
