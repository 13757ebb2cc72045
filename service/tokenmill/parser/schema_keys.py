"""What a JSON schema says of the keys of an object and of the elements of an array, beyond their first schema."""

from collections.abc import Iterator, Mapping
from typing import Any

from tokenmill.parser.patterns import matches
from tokenmill.parser.schema import NO_SHAPE, Shape, resolve

_STRUCTURED = {"object": ("properties", "patternProperties", "additionalProperties"), "array": ("items", "prefixItems")}
"""Keywords that say the type where `type` does not."""

KEYS = 256
"""Keys of an object for which a shape remembers what is said of them: they come from the model."""

_BRANCHES = 64
"""Combined schemas inside of each other, at most: references may lead in circles."""


def kinds(shape: Shape) -> frozenset[str]:
    """The JSON types that a value may have, also where only its keywords tell; empty if nothing does."""
    types = shape.types
    if types:
        return types
    return frozenset(
        kind
        for schema in shape.alternatives
        for kind, keywords in _STRUCTURED.items()
        if any(keyword in schema for keyword in keywords)
    )


def value_shapes(shape: Shape, key: str) -> list[Shape]:
    """The schemas of a key's value: of its property and of the patterns that it fits, else that of the rest."""
    return _read(shape, key)[0]


def lists_key(shape: Shape, key: str) -> bool:
    """Whether an object's key is one that the schema has: all are, where it lists none."""
    return _read(shape, key)[1]


def _read(shape: Shape, key: str) -> tuple[list[Shape], bool]:
    found = shape.keys.get(key)
    if found is None:
        found = _value_shapes(shape, key), _lists_key(shape, key)
        if len(shape.keys) < KEYS:
            shape.keys[key] = found
    return found


def _value_shapes(shape: Shape, key: str) -> list[Shape]:
    found = [shape.inner(inner) for inner in _own(shape, key) if isinstance(inner, Mapping)]
    if found:
        return found
    rest = (schema.get("additionalProperties") for schema in shape.alternatives)
    return [shape.inner(inner) for inner in rest if isinstance(inner, Mapping)][:1]


def _own(shape: Shape, key: str) -> Iterator[Any]:
    """What is said of a key by name or by pattern."""
    for schema in shape.alternatives:
        yield from _said(schema, key)


def _said(schema: Mapping[str, Any], key: str) -> Iterator[Any]:
    properties, patterns = schema.get("properties"), schema.get("patternProperties")
    if isinstance(properties, Mapping) and key in properties:
        yield properties[key]
    if isinstance(patterns, Mapping):
        yield from (inner for pattern, inner in patterns.items() if isinstance(pattern, str) and matches(pattern, key))


def _lists_key(shape: Shape, key: str) -> bool:
    said = list(_own(shape, key))
    if said:
        return not any(inner is False for inner in said)
    schemas = [schema for schema in shape.alternatives if any(keyword in schema for keyword in _STRUCTURED["object"])]
    return not schemas or any(schema.get("additionalProperties", False) is not False for schema in schemas)


def allows_key(shape: Shape, key: str) -> bool:
    """Whether the schema lets an object have this key."""
    return _allows(shape.schema, shape.root, key, _BRANCHES)


def _allows(schema: Any, root: Mapping[str, Any], key: str, left: int) -> bool:
    if not isinstance(schema, Mapping) or not left:
        return schema is not False
    if any(inner is False for inner in _said(schema, key)):
        return False
    if schema.get("additionalProperties") is False and not any(True for _ in _said(schema, key)):
        return False
    for combined, holds in (("allOf", all), ("anyOf", any), ("oneOf", any)):
        parts = schema.get(combined)
        if isinstance(parts, list) and parts and not holds(_allows(part, root, key, left - 1) for part in parts):
            return False
    reference = schema.get("$ref")
    return not isinstance(reference, str) or _allows(resolve(reference, root), root, key, left - 1)


def item_shapes(shape: Shape, count: int) -> list[Shape]:
    """The schemas of an array's elements: those of the positions if there are as many, else one for all."""
    for schema in shape.alternatives:
        for keyword in ("prefixItems", "items"):
            positions = schema.get(keyword)
            if isinstance(positions, list) and len(positions) == count:
                return [shape.inner(inner) for inner in positions]
    item = shape.item()
    return [item if isinstance(item.schema, Mapping) else NO_SHAPE] * count


def renamed(value: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """The object under the keys that its schema requires and misses, where it has others that can mean only them."""
    schema = shape.schema if isinstance(shape.schema, Mapping) else {}
    properties, required = schema.get("properties"), schema.get("required")
    if schema.get("additionalProperties") is not False or not isinstance(properties, Mapping):
        return value
    missing = [key for key in required if key in properties and key not in value] if isinstance(required, list) else []
    strangers = [key for key in value if not lists_key(shape, key)]
    names = {}
    for key in missing:
        plural = "array" in kinds(shape.inner(properties[key]))
        alike = [name for name in strangers if _alike(name, key, plural=plural)]
        if len(alike) == 1:
            names[alike[0]] = key
    return {names.get(key, key): inner for key, inner in value.items()}


def _alike(name: str, wanted: str, *, plural: bool) -> bool:
    """Whether two names differ only in how their words are joined, or in that the wanted one is the plural."""
    first, second = (text.replace("_", "").lower() for text in (name, wanted))
    return first == second or (plural and second in (f"{first}s", f"{first}es", f"{first[:-1]}ies"))
