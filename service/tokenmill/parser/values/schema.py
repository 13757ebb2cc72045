"""What a JSON schema declares of its values: their types, and the schemas of what is inside them.

A schema comes from the producer and may be anything. What can't be understood is ignored, and nothing here raises.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from tokenmill.parser.values.checked import is_nullable, matches, resolve

_KINDS: dict[str, str] = {
    **{kind: kind for kind in ("null", "integer", "number", "boolean", "object", "array", "string")},
    **dict.fromkeys(("str", "text", "varchar", "char", "enum"), "string"),
    **dict.fromkeys(("int", "uint", "unsigned", "long", "short", "bigint"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "num", "numeric"), "number"),
    **dict.fromkeys(("bool", "binary"), "boolean"),
    **dict.fromkeys(("dict", "map"), "object"),
    **dict.fromkeys(("list", "tuple", "arr", "sequence", "set"), "array"),
}
"""JSON types by their names, and by names that other type systems give them."""

_TYPE = re.compile(r"([a-z]+)(?:\d+| int|\s?[\[<(].+[\])>])?\Z", re.DOTALL)
"""The name of a type, and its details: its bits, its length, the types inside it."""


WRAPPER = "jsonSchema"
"""Key under which some libraries put a schema."""


# How far schemas are followed. Each value's may lead to all the others, so that it can be too much for all of them.

FEW = 64
"""Schemas that one may lead to before it counts as leading to more than a few."""

FOLLOWED = 100_000
"""Schemas, and properties in them, of all schemas of one root that lead to more than a few: some tenths of a second.
Above it, each of those stands only for itself."""

_COMBINED = ("anyOf", "oneOf", "allOf")
_LEADS = frozenset({*_COMBINED, "$ref", WRAPPER})


class _Places:
    """What is known of the places of a root."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self.shapes: dict[int, Shape] = {}
        """Shapes by the identity of their schemas."""
        self._types: dict[int, set[str]] = {}
        self._referred: dict[str, Any] = {}

    def alternatives(self, schema: Any, most: int) -> tuple[list[Mapping[str, Any]], int]:
        """Return the schema and all that the keywords of `_LEADS` lead to, each once, so that circles end.

        Also return how many places were looked at: at most `most` of them, and one more if there were others.
        """
        said, waiting, seen, looked = list[Mapping[str, Any]](), [schema], set[int](), 0
        while waiting and looked < most:
            looked += 1
            found = waiting.pop()
            if isinstance(found, Mapping) and id(found) not in seen:
                seen.add(id(found))
                said.append(found)
                if not _LEADS.isdisjoint(found):
                    waiting += reversed(list(self._led_to(found, most)))
        return said, looked + bool(waiting)

    def _led_to(self, schema: Mapping[str, Any], most: int) -> Iterator[Any]:
        for several in map(schema.get, _COMBINED):
            if isinstance(several, list):
                yield from several[:most]
        if isinstance(reference := schema.get("$ref"), str):
            if reference not in self._referred:
                self._referred[reference] = resolve(reference, self._root)
            yield self._referred[reference]
        yield schema.get(WRAPPER)

    def types(self, schema: Mapping[str, Any]) -> set[str]:
        """Return the types that the schema itself gives; many places may lead to it."""
        found = self._types.get(id(schema))
        if found is None:
            found = self._types[id(schema)] = _own_types(schema)
        return found

    @cached_property
    def tangled(self) -> bool:
        """Whether it is too much to follow all. The answer does not depend on earlier ones: values are read again."""
        left, waiting = FOLLOWED, list[Any]([self._root])
        while waiting and left > 0:
            part = waiting.pop()
            if isinstance(part, list):
                waiting += part
            elif isinstance(part, Mapping):
                waiting += part.values()
                if self.alternatives(part, FEW)[1] > FEW:
                    found, looked = self.alternatives(part, left)
                    left -= looked + sum(len(_named_in(each, "properties")) for each in found)
        return left <= 0


class Shape:
    """One value's schema, and the root in which its references are resolved.

    It is evaluated once: there is one shape for each place of the root, however many values are read with it.
    """

    def __init__(self, schema: Any, root: Mapping[str, Any], known: _Places | None = None) -> None:
        """`known` is what other shapes of the same root have read."""
        self.schema = schema
        self.root = root
        self._known = _Places(root) if known is None else known
        self.alternatives = self._followed()
        """The schema and all that it leads to."""
        self.keys: dict[str, tuple[list[Shape], bool]] = {}
        """Keys that were asked for: the schemas of the value, and whether the schema has the key."""

    def _followed(self) -> Sequence[Mapping[str, Any]]:
        found, looked = self._known.alternatives(self.schema, FEW)
        if looked <= FEW:
            return found
        return found[:1] if self._known.tangled else self._known.alternatives(self.schema, FOLLOWED)[0]

    @cached_property
    def types(self) -> frozenset[str]:
        """Every JSON type that the value may have; empty if the schema gives none."""
        found: set[str] = set()
        for schema in self.alternatives:
            found |= self._known.types(schema)
        if found and any(is_nullable(schema) for schema in self.alternatives):
            found.add("null")
        return frozenset(found)

    def child(self, name: str) -> "Shape":
        """Return the schema of an object's value under this key."""
        for schema in self.saying(name):
            properties = _named_in(schema, "properties")
            if name in properties:
                return self.inner(properties[name])
        return self._others

    def saying(self, name: str) -> Sequence[Mapping[str, Any]]:
        """Return the alternatives that may declare this key by name or by pattern."""
        if len(self.alternatives) <= FEW:
            return self.alternatives
        named, patterned = self._by_name
        return [self.alternatives[place] for place in sorted({*named.get(name, ()), *patterned})]

    @cached_property
    def _by_name(self) -> tuple[dict[str, list[int]], list[int]]:
        """The positions of each name in the alternatives, and of patterns."""
        named: dict[str, list[int]] = {}
        for place, schema in enumerate(self.alternatives):
            for name in _named_in(schema, "properties"):
                named.setdefault(name, []).append(place)
        schemas = enumerate(self.alternatives)
        return named, [place for place, schema in schemas if _named_in(schema, "patternProperties")][:PATTERNS]

    @cached_property
    def others(self) -> Sequence[Any]:
        """The rules for keys that are neither named nor fit a pattern: all values of `additionalProperties`.

        A schema without that keyword allows no others if it declares any keys. This counts as False.
        """
        schemas = [each for each in self.alternatives if any(keyword in each for keyword in _STRUCTURED["object"])]
        return [schema.get("additionalProperties", False) for schema in schemas]

    @cached_property
    def _others(self) -> "Shape":
        return self._first("additionalProperties")

    @cached_property
    def item(self) -> "Shape":
        """The schema of an array's elements."""
        return self._first("items")

    def _first(self, keyword: str) -> "Shape":
        for schema in self.alternatives:
            if keyword in schema:
                return self.inner(schema[keyword])
        return NO_SHAPE

    def inner(self, schema: Any) -> "Shape":
        """Return the shape of a schema that is a part of this one."""
        found = self._known.shapes.get(id(schema))
        if found is None:
            found = self._known.shapes[id(schema)] = Shape(schema, self.root, self._known)
        return found


def _named_in(schema: Mapping[str, Any], keyword: str) -> Mapping[Any, Any]:
    found = schema.get(keyword)
    return found if isinstance(found, Mapping) else {}


def _own_types(schema: Mapping[str, Any]) -> set[str]:
    """Return the types that `type` names, else those of the values in `enum` and `const`."""
    declared = schema.get("type")
    names = declared if isinstance(declared, list) else [declared]
    found = {kind for name in names if isinstance(name, str) and (kind := _named(name))}
    if not found:
        values = schema.get("enum")
        found = {_kind(value) for value in values} if isinstance(values, list) else set()
        found |= {_kind(schema["const"])} if "const" in schema else set()
    return found


def _named(name: str) -> str:
    """Return the JSON type of this name; empty if there is none."""
    found = _TYPE.match(name.strip().lower())
    return _KINDS.get(found[1], "") if found else ""


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


NO_SHAPE = Shape(None, {})
"""An empty schema."""


# What a JSON schema declares of an object's keys and an array's elements, beyond their first schema.

_STRUCTURED = {"object": ("properties", "patternProperties", "additionalProperties"), "array": ("items", "prefixItems")}
"""Keywords that imply the type where `type` is missing."""

KEYS = 256
"""Keys of an object whose schemas a shape remembers: they come from the model."""

PATTERNS = 8
"""Patterns that a key is matched against, a cost for each of many keys: schemas have one to three."""

_BRANCHES = 64
"""Combined schemas inside each other, at most: references may lead in circles."""


def kinds(shape: Shape) -> frozenset[str]:
    """Return the JSON types that a value may have, also where only its keywords imply them; empty if nothing does."""
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
    """Return the schemas of a key's value: of its property and of the patterns that it fits, else that of the rest."""
    return _read(shape, key)[0]


def lists_key(shape: Shape, key: str) -> bool:
    """Whether the schema lists this key of an object: it has all keys where it lists none."""
    return _read(shape, key)[1]


def _read(shape: Shape, key: str) -> tuple[list[Shape], bool]:
    found = shape.keys.get(key)
    if found is None:
        own = list(_own(shape, key))
        others = islice((inner for inner in shape.others if isinstance(inner, Mapping)), 1)
        schemas = [inner for inner in own if isinstance(inner, Mapping)] or list(others)
        listed = (
            all(inner is not False for inner in own)
            if own
            else not shape.others or any(inner is not False for inner in shape.others)
        )
        found = [shape.inner(inner) for inner in schemas], listed
        if len(shape.keys) < KEYS:
            shape.keys[key] = found
    return found


def _own(shape: Shape, key: str) -> Iterator[Any]:
    """Yield the schemas of a key by name or by pattern."""
    left = PATTERNS
    for schema in shape.saying(key):
        yield from _said(schema, key, left)
        left = max(left - len(_named_in(schema, "patternProperties")), 0)


def _said(schema: Mapping[str, Any], key: str, most: int = PATTERNS) -> Iterator[Any]:
    properties, patterns = _named_in(schema, "properties"), _named_in(schema, "patternProperties")
    if key in properties:
        yield properties[key]
    asked = ((pattern, inner) for pattern, inner in islice(patterns.items(), most) if isinstance(pattern, str))
    yield from (inner for pattern, inner in asked if matches(pattern, key))


def allows_key(shape: Shape, key: str) -> bool:
    """Whether the schema lets an object have this key."""
    return _Allowed(shape.root, key).by(shape.schema, _BRANCHES)


class _Allowed:
    """Whether schemas let an object have one key. Each is asked once: several may lead to one, or in a circle."""

    def __init__(self, root: Mapping[str, Any], key: str) -> None:
        self._root = root
        self._key = key
        self._known: dict[int, bool] = {}

    def by(self, schema: Any, left: int) -> bool:
        if not isinstance(schema, Mapping) or not left:
            return schema is not False
        found = self._known.get(id(schema))
        if found is None:
            self._known[id(schema)] = True  # a circle alone forbids nothing
            found = self._known[id(schema)] = self._read(schema, left - 1)
        return found

    def _read(self, schema: Mapping[str, Any], left: int) -> bool:
        said = list(_said(schema, self._key))
        if any(inner is False for inner in said) or (not said and schema.get("additionalProperties") is False):
            return False
        for combined, holds in (("allOf", all), ("anyOf", any), ("oneOf", any)):
            parts = schema.get(combined)
            if isinstance(parts, list) and parts and not holds(self.by(part, left) for part in parts):
                return False
        reference = schema.get("$ref")
        return not isinstance(reference, str) or self.by(resolve(reference, self._root), left)


def item_shapes(shape: Shape, count: int) -> list[Shape]:
    """Return the schemas of an array's elements: of the positions if there are as many, else one for all."""
    for schema in shape.alternatives:
        for keyword in ("prefixItems", "items"):
            positions = schema.get(keyword)
            if isinstance(positions, list) and len(positions) == count:
                return [shape.inner(inner) for inner in positions]
    item = shape.item
    return [item if isinstance(item.schema, Mapping) else NO_SHAPE] * count


def renamed(value: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Return the object under the required keys that it lacks, where it has others that can mean only them."""
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
