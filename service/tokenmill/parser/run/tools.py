"""The tools of a message: which names are known, what types their parameters may have, whether arguments fit.

A schema comes from the producer and may be anything; what can't be understood is not checked, and nothing here raises.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from tokenmill.parser.values.schema import WRAPPER, Shape, lists_key, nulls_allowed, resolve

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
        """Every JSON type that the parameter may have; empty if the schema does not say."""
        if parameter not in self._types:
            found = self.shape.child(parameter).types if parameter in self.parameters else frozenset[str]()
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
        """The parameters that the schema names."""
        properties = self._coercion.get("properties")
        return frozenset(properties) if isinstance(properties, Mapping) else frozenset()

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
    def _nodes(self) -> int:
        return schema_nodes(self._schema)

    @cached_property
    def _validator(self) -> Any:
        if self._nodes > SCHEMA_NODES:
            return None
        import jsonschema_rs  # noqa: PLC0415 -- a quarter of the time of `import tokenmill`, for who has no schemas

        try:
            return jsonschema_rs.validator_for(nulls_allowed(self._schema), offline=True)
        except (ValueError, TypeError, RecursionError):  # what the library refuses checks nothing
            return None

    def mismatch(self, arguments: Mapping[str, Any], most: int) -> str | None:
        """Why the arguments do not fit the schema; None if they do, or if that can't be told.

        `most` is what the arguments have parts at most: then those of a short source need not be counted.
        """
        if self._validator is None or (self._nodes * most > STEPS < self._nodes * value_nodes(arguments)):
            return None
        try:
            if self._validator.is_valid(arguments):  # nearly all are: no errors need be made
                return None
            for problem in self._validator.iter_errors(arguments):
                where = "/".join(str(step) for step in problem.instance_path)
                return (f"{where}: {problem.message}" if where else str(problem.message))[:MESSAGE_CHARS]
        except ValueError:  # text that can't be encoded
            return None
        return None


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
