"""OpenAPI's `nullable: true`, said as JSON Schema says it: validators know no such keyword, and would refuse a null.

Nothing moves that a reference may point to, but what is beside a `$ref` or an `allOf`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tokenmill.parser.schema import is_nullable

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


def nulls_allowed(schema: Any) -> Any:
    """The schema with a null wherever it is nullable. Raises `RecursionError` for one that is nested too deep."""
    if not isinstance(schema, Mapping):
        return schema
    found = {keyword: _inside(keyword, value) for keyword, value in schema.items()}
    found = _with_null(found) if is_nullable(schema) else found
    if isinstance(branches := found.get("oneOf"), list) and isinstance(said := schema.get("oneOf"), list):
        found["oneOf"] = _one_null(said, branches)
    return found


def _inside(keyword: str, value: Any) -> Any:
    if keyword in _NAMED and isinstance(value, Mapping):
        return {name: nulls_allowed(schema) for name, schema in value.items()}
    if keyword in _SEVERAL and isinstance(value, list):
        return [nulls_allowed(schema) for schema in value]
    return nulls_allowed(value) if keyword in _ONE else value


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, or null. Only where it says the type, or all that it may be, there is a place for it."""
    if schema.keys() & {"$ref", "allOf", "const", "not"}:
        around = {keyword: value for keyword, value in schema.items() if keyword in _ROOT}
        return {**around, "anyOf": [{key: value for key, value in schema.items() if key not in around}, _NULL]}
    return {keyword: _PLACES.get(keyword, _same)(value) for keyword, value in schema.items()}


def _one_null(said: list[Any], branches: list[Any]) -> list[Any]:
    """Branches of which only one may take a null: several that do would refuse it."""
    nullable = [isinstance(branch, Mapping) and is_nullable(branch) for branch in said]
    if sum(nullable) + (len(branches) > len(said)) < 2:  # noqa: PLR2004 -- one may
        return branches
    return [
        nulls_allowed({**branch, "nullable": False}) if may else allowed
        for branch, may, allowed in zip(said, nullable, branches[: len(said)], strict=True)
    ] + [_NULL]


def _same(value: Any) -> Any:
    return value


def _among(values: Any) -> Any:
    return [*values, None] if isinstance(values, list) and None not in values else values


def _typed(types: Any) -> Any:
    kinds = [types] if isinstance(types, str) else types
    return [*kinds, "null"] if isinstance(kinds, list) and "null" not in kinds else types


def _either(schemas: Any) -> Any:
    return [*schemas, _NULL] if isinstance(schemas, list) and _NULL not in schemas else schemas


_PLACES: dict[str, Callable[[Any], Any]] = {"type": _typed, "enum": _among, "anyOf": _either, "oneOf": _either}
