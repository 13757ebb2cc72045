"""The tools of a message: which names are known, which types their parameters may have, and whether arguments fit.

A schema comes from the producer and may be anything; what can't be understood is not checked, and nothing here raises.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from tokenmill.parser.values.checked import checkable, compiled_for, nulls_allowed
from tokenmill.parser.values.schema import WRAPPER, Shape, kinds, lists_key, resolve, value_shapes

MESSAGE_CHARS = 400
"""Characters of a mismatch, which is one sentence. The library quotes the value, which may be a whole file."""


NO_PARAMETER = "\0"
"""A name that no schema lists."""


class Tool:
    """One tool and its schema."""

    def __init__(self, name: str, schema: Any, coercion_schema: Any = None) -> None:
        """`schema` is an object, or False if it allows no arguments."""
        self.name = name
        self._schema: Mapping[str, Any] = schema if schema is not False else {}
        self._said = schema if coercion_schema is None else coercion_schema
        self._coercion: Mapping[str, Any] = self._said if self._said is not False else {}
        self._types: dict[str, frozenset[str]] = {}

    def types(self, parameter: str) -> frozenset[str]:
        """Return every JSON type that the parameter may have; empty if the schema gives none, by `type` or by its
        keywords.
        """
        if parameter not in self._types:
            found = frozenset[str]().union(*(kinds(inner) for inner in value_shapes(self.shape, parameter)))
            if len(self._types) == 1000:  # noqa: PLR2004 # names come from the model: no cache without a bound
                return found
            self._types[parameter] = found
        return self._types[parameter]

    @cached_property
    def shape(self) -> Shape:
        """The schema of the arguments, as it is used to read values."""
        return Shape(self._said, self._coercion)

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The parameters that the schema names, whatever it is composed of."""
        properties = [schema.get("properties") for schema in self.shape.alternatives]
        return frozenset(name for named in properties if isinstance(named, Mapping) for name in named)

    def has(self, parameter: str) -> bool:
        """Whether the schema knows the parameter by name, by pattern or because it lists none."""
        return lists_key(self.shape, parameter)

    @cached_property
    def others(self) -> bool:
        """Whether arguments may have names other than those of `parameters`; False where patterns restrict them."""
        patterns = any("patternProperties" in schema for schema in self.shape.alternatives)
        return not patterns and self._said is not False and self.has(NO_PARAMETER)

    @cached_property
    def required(self) -> frozenset[str]:
        """The parameters that the schema requires."""
        names = self._schema.get("required")
        return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()

    @cached_property
    def _check(self) -> tuple[int, Any]:
        """The number of the schema's parts, and a function that returns the validator of a value: None if there is
        none.
        """
        try:
            schema = nulls_allowed(self._schema)
            nodes, held = _walked(schema)
            if nodes > SCHEMA_NODES:
                return nodes, None
            if held:
                return nodes, _Patterned(json.dumps(schema), held).validator
            validator = compiled_for(schema)
        except (ValueError, TypeError, RecursionError):  # a schema that the library refuses checks nothing
            return 0, None
        return nodes, lambda _: validator

    def mismatch(self, arguments: Mapping[str, Any], most: int) -> str | None:
        """Return why the arguments do not fit the schema; None if they do, or if it can't be checked.

        `most` is the maximum number of parts in the arguments: those of a short source need not be counted.
        """
        nodes, validator_of = self._check
        if validator_of is None or (nodes * most > STEPS < nodes * value_nodes(arguments)):
            return None
        try:
            validator = validator_of(arguments)
            if validator.is_valid(arguments):  # nearly all are: no errors need be made
                return None
            for problem in validator.iter_errors(arguments):
                where = "/".join(str(step) for step in problem.instance_path)
                return (f"{where}: {problem.message}" if where else str(problem.message))[:MESSAGE_CHARS]
        except (ValueError, TypeError):  # text that can't be encoded, or a schema that the library refuses
            return None
        return None


class _Patterned:
    """A schema with patterns. Its validators depend on the length of what they check, and are kept for all messages
    together, because they are large.
    """

    def __init__(self, schema: str, held: Mapping[str, int]) -> None:
        self._schema = schema
        self._held = tuple(held.items())

    def validator(self, value: Any) -> Any:
        """Return what checks a value. Raises `ValueError` or `TypeError` if the library can't read the schema."""
        return _kept(self._schema, self._held, 1 << max(value_chars(value), LEAST_CHARS).bit_length())


@lru_cache(maxsize=64)
def _kept(schema: str, held: tuple[tuple[str, int], ...], chars: int) -> Any:
    return checkable(json.loads(schema), dict(held), chars)


def read_tools(tools: Sequence[Mapping[str, Any]], originals: Mapping[str, Mapping[str, Any]]) -> dict[str, Tool]:
    """Return the tools by name, from an OpenAI tool list: entries in the form `{"function": {…}}` or flat."""
    read = {}
    for entry in tools:
        function = entry.get("function", entry)
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(name, str):
            schema = bare_schema(function.get("parameters"))
            read[name] = Tool(name, schema, bare_schema(originals.get(name, schema)))
    return read


def bare_schema(schema: Any) -> Any:
    """Return a schema without the wrapper that some libraries put around it; an empty one for anything else."""
    if isinstance(schema, Mapping) and "type" not in schema and isinstance(schema.get(WRAPPER), Mapping):
        return schema[WRAPPER]
    return schema if isinstance(schema, Mapping) or schema is False else {}


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


def _walked(schema: Mapping[str, Any]) -> tuple[int, Counter[str]]:
    """Return the parts of a schema, and how often each of its patterns is held against a value."""
    left, named, referred, patterns = SCHEMA_NODES, False, False, Counter[str]()
    stack: list[tuple[Any, int, int]] = [(schema, 1, 0)]  # how often each is held against a value, and how often asked
    while stack and left >= 0:
        part, times, asked = stack.pop()
        left -= times
        if isinstance(part, list):
            stack.extend([(inner, times, asked) for inner in part])
        elif isinstance(part, Mapping):
            asked += 0 if _UNEVALUATED.isdisjoint(part) else times
            here = times + _ASKED * asked, asked
            stack.extend([(inner, *(here if keyword in _HERE else (times, 0))) for keyword, inner in part.items()])
            patterns.update(dict.fromkeys(_patterns(part), times))
            named = named or (part is not schema and _is_named(part, schema))
            for found in _referred(part, schema):
                referred = True
                stack.append((found, *here))
                left -= SCHEMA_NODES + 1 if found is None else 0
    return SCHEMA_NODES + 1 if left < 0 or (named and referred) else SCHEMA_NODES - left, patterns


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
