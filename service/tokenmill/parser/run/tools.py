"""The tools of a message: which names are known, what types their parameters may have, whether arguments fit.

A schema comes from the producer and may be anything; what can't be understood is not checked, and nothing here raises.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from tokenmill.parser.values.checked import compiled_for, nulls_allowed, patterns_read
from tokenmill.parser.values.schema import WRAPPER, Shape, kinds, lists_key, resolve, value_shapes

MESSAGE_CHARS = 400
"""A mismatch is told in one sentence; the library quotes the value, which may be a whole file."""


NO_PARAMETER = "\0"
"""A name that no schema lists."""


class Tool:
    """One tool and what its schema says."""

    def __init__(self, name: str, schema: Any, coercion_schema: Any = None) -> None:
        """`schema` is an object, or False: there are no arguments that it allows."""
        self.name = name
        self._schema: Mapping[str, Any] = schema if schema is not False else {}
        self._said = schema if coercion_schema is None else coercion_schema
        self._coercion: Mapping[str, Any] = self._said if self._said is not False else {}
        self._types: dict[str, frozenset[str]] = {}

    def types(self, parameter: str) -> frozenset[str]:
        """Every JSON type that the parameter may have; empty if the schema gives none, by `type` or by its keywords."""
        if parameter not in self._types:
            found = frozenset[str]().union(*(kinds(inner) for inner in value_shapes(self.shape, parameter)))
            if len(self._types) == 1000:  # noqa: PLR2004 # names come from the model: no cache without a bound
                return found
            self._types[parameter] = found
        return self._types[parameter]

    @cached_property
    def shape(self) -> Shape:
        """The schema of the arguments as values are read by it."""
        return Shape(self._said, self._coercion)

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The parameters that the schema names, whatever it is put together from."""
        properties = [schema.get("properties") for schema in self.shape.alternatives]
        return frozenset(name for named in properties if isinstance(named, Mapping) for name in named)

    def has(self, parameter: str) -> bool:
        """Whether the schema knows the parameter by name, by pattern or because it lists none."""
        return lists_key(self.shape, parameter)

    @cached_property
    def others(self) -> bool:
        """Whether arguments may have any other name than those of `parameters`; False where patterns say which."""
        patterns = any("patternProperties" in schema for schema in self.shape.alternatives)
        return not patterns and self._said is not False and self.has(NO_PARAMETER)

    @cached_property
    def required(self) -> frozenset[str]:
        """The parameters that the schema requires."""
        names = self._schema.get("required")
        return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()

    @cached_property
    def _check(self) -> tuple[int, Any]:
        """The parts of the schema, and what holds arguments against it: None if nothing does."""
        try:
            schema = nulls_allowed(self._schema)
            nodes = schema_nodes(schema)
            return nodes, None if nodes > SCHEMA_NODES else _compiled(schema)
        except (ValueError, TypeError, RecursionError):  # what the library refuses checks nothing
            return 0, None

    def mismatch(self, arguments: Mapping[str, Any], most: int) -> str | None:
        """Why the arguments do not fit the schema; None if they do, or if that can't be told.

        `most` is what the arguments have parts at most: then those of a short source need not be counted.
        """
        nodes, validator = self._check
        if validator is None or (nodes * most > STEPS < nodes * value_nodes(arguments)):
            return None
        try:
            if validator.is_valid(arguments):  # nearly all are: no errors need be made
                return None
            for problem in validator.iter_errors(arguments):
                where = "/".join(str(step) for step in problem.instance_path)
                return (f"{where}: {problem.message}" if where else str(problem.message))[:MESSAGE_CHARS]
        except ValueError:  # text that can't be encoded
            return None
        return None


def _compiled(schema: dict[str, Any]) -> Any:
    try:
        return compiled_for(schema)
    except ValueError:
        return compiled_for(patterns_read(schema))


def read_tools(tools: Sequence[Mapping[str, Any]], originals: Mapping[str, Mapping[str, Any]]) -> dict[str, Tool]:
    """Tools by name, from an OpenAI tool list: entries in the form `{"function": {…}}` or flat."""
    read = {}
    for entry in tools:
        function = entry.get("function", entry)
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(name, str):
            schema = bare_schema(function.get("parameters"))
            read[name] = Tool(name, schema, bare_schema(originals.get(name, schema)))
    return read


def bare_schema(schema: Any) -> Any:
    """A schema without the wrapper that some libraries put around it; what is none says nothing."""
    if isinstance(schema, Mapping) and "type" not in schema and isinstance(schema.get(WRAPPER), Mapping):
        return schema[WRAPPER]
    return schema if isinstance(schema, Mapping) or schema is False else {}


# How much work it may be to hold arguments against a schema: a bound, because both come from outside.
#
# A validator follows every alternative for every value, so a schema whose references branch, or lead back to
# themselves, can cost more than any time there is. What is above the bound is not checked.

SCHEMA_NODES = 20_000
"""Parts of a schema with every reference followed: a hundred times what large tools have."""

STEPS = 2_000_000
"""Parts of the schema times parts of the arguments: some tens of milliseconds."""


_HERE = frozenset(
    {
        *("$ref", "allOf", "anyOf", "contains", "dependencies", "dependentSchemas"),
        *("else", "if", "not", "oneOf", "then"),
    }
)
"""Keywords whose schemas an `unevaluated…` beside or around them asks for what they have seen of the value."""

_ASKED = 2
"""How often a schema that is asked is held against the value, at most, to know whether what it has seen counts."""

_UNEVALUATED = frozenset({"unevaluatedItems", "unevaluatedProperties"})
_DYNAMIC = ("$dynamicRef", "$recursiveRef")


def schema_nodes(schema: Mapping[str, Any]) -> int:
    """The parts of a schema with its references followed; of a circle, as of all too large, `SCHEMA_NODES` and one.

    What is held against a value several times counts as often. A reference that may lead anywhere is as a circle: the
    library knows more kinds of them than this one follows.
    """
    left, named, referred = SCHEMA_NODES, False, False
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
            named = named or (part is not schema and _is_named(part, schema))
            for found in _referred(part, schema):
                referred = True
                stack.append((found, *here))
                left -= SCHEMA_NODES + 1 if found is None else 0
    return SCHEMA_NODES + 1 if left < 0 or (named and referred) else SCHEMA_NODES - left


def _referred(part: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Any]:
    """Where the references of a schema lead; None for one that may lead anywhere."""
    if isinstance(reference := part.get("$ref"), str):
        yield resolve(reference, root) if reference == "#" or reference.startswith("#/") else None
    if any(isinstance(part.get(keyword), str) for keyword in _DYNAMIC):
        yield None


def _is_named(part: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether references inside of a schema mean this one instead of the root."""
    old = "draft-04" in str(root.get("$schema"))
    return any(isinstance(part.get(keyword), str) for keyword in ("$id", "$schema", *(["id"] if old else [])))


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
