"""The tools of a message: which names are known, what types their parameters may have, whether arguments fit.

A schema comes from the producer and may be anything; what can't be understood is not checked, and nothing here raises.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import jsonschema_rs

_KINDS: dict[str, str] = {
    **{kind: kind for kind in ("null", "integer", "number", "boolean", "object", "array", "string")},
    **dict.fromkeys(("str", "text", "varchar", "char", "enum"), "string"),
    **dict.fromkeys(("int", "int8", "int16", "int32", "int64", "uint", "long", "short", "bigint"), "integer"),
    **dict.fromkeys(("float", "float32", "float64", "double", "decimal", "num"), "number"),
    **{"bool": "boolean", "dict": "object", "map": "object", "list": "array", "tuple": "array"},
}
"""JSON types by their names, and by names that other type systems give them."""

MESSAGE_CHARS = 400
"""A mismatch is told in one sentence; the library quotes the value, which may be a whole file."""

_REF_HOPS = 8
"""References followed from one schema to another before giving up: real schemas need one or two."""


class Tool:
    """One tool and what its schema says."""

    def __init__(self, name: str, schema: Mapping[str, Any], coercion_schema: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self._schema = schema
        self._coercion = schema if coercion_schema is None else coercion_schema
        self._types: dict[str, frozenset[str]] = {}

    def types(self, parameter: str) -> frozenset[str]:
        """Every JSON type that the parameter may have; empty if the schema does not say."""
        if parameter not in self._types:
            properties = self._coercion.get("properties")
            schema = properties.get(parameter) if isinstance(properties, Mapping) else None
            found = frozenset(_types(schema, self._coercion, _REF_HOPS))
            if len(self._types) == 1000:  # noqa: PLR2004 # names come from the model: no cache without a bound
                return found
            self._types[parameter] = found
        return self._types[parameter]

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The parameters that the schema names."""
        properties = self._coercion.get("properties")
        return frozenset(properties) if isinstance(properties, Mapping) else frozenset()

    @cached_property
    def _validator(self) -> Any:
        try:
            return jsonschema_rs.validator_for(dict(self._schema), offline=True)
        except (ValueError, TypeError, RecursionError):  # what the library refuses checks nothing
            return None

    def mismatch(self, arguments: Mapping[str, Any]) -> str | None:
        """Why the arguments do not fit the schema; None if they do, or if that can't be told."""
        if self._validator is None:
            return None
        try:
            for problem in self._validator.iter_errors(arguments):
                where = "/".join(str(step) for step in problem.instance_path)
                return (f"{where}: {problem.message}" if where else str(problem.message))[:MESSAGE_CHARS]
        except ValueError:  # text that can't be encoded
            return None
        return None


def _types(schema: Any, root: Mapping[str, Any], hops: int) -> set[str]:
    """The types that a schema allows, from `type`, `enum`, `const`, `anyOf`, `oneOf`, `allOf` and `$ref`."""
    if not isinstance(schema, Mapping) or hops == 0:
        return set()
    found = _declared(schema.get("type"))
    if not found:
        values = schema.get("enum")
        found = {_kind(value) for value in values} if isinstance(values, list) else set()
        found |= {_kind(schema["const"])} if "const" in schema else set()
    for combined in ("anyOf", "oneOf", "allOf"):
        parts = schema.get(combined)
        for part in parts if isinstance(parts, list) else ():
            found |= _types(part, root, hops - 1)
    if isinstance(reference := schema.get("$ref"), str):
        found |= _types(_resolve(reference, root), root, hops - 1)
    return found


def _declared(declared: Any) -> set[str]:
    names = declared if isinstance(declared, list) else [declared]
    return {_KINDS[name.lower()] for name in names if isinstance(name, str) and name.lower() in _KINDS}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    """A reference inside the same schema: `#/$defs/Name`."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference.removeprefix("#").removeprefix("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def read_tools(tools: Sequence[Mapping[str, Any]], originals: Mapping[str, Mapping[str, Any]]) -> dict[str, Tool]:
    """Tools by name, from an OpenAI tool list: entries in the form `{"function": {…}}` or flat."""
    read = {}
    for entry in tools:
        function = entry.get("function", entry)
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(name, str):
            schema = function.get("parameters")
            read[name] = Tool(name, schema if isinstance(schema, Mapping) else {}, originals.get(name))
    return read
