"""OpenAPI's `nullable: true`, written in JSON Schema: validators ignore that keyword, and would refuse a null.

Nothing moves that a reference may point to, except what is beside a `$ref` or an `allOf`.
"""

from collections.abc import Callable, Mapping
from typing import Any

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
        keyword: inside(keyword, value, nulls_allowed)
        if keyword != "oneOf" or branches is None
        else [allowed for allowed, _ in branches]
        for keyword, value in schema.items()
    }
    both = _with_null(found) if is_nullable(schema) else found, found
    if branches is None:
        return both
    allowed, without = (_one_null(schema, each, branches) for each in both)
    return allowed, without


def inside(keyword: str, value: Any, read: Callable[[Any], Any]) -> Any:
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
