"""What a JSON schema says of the values in it: their types, and the schemas of what is inside of them.

A schema comes from the producer and may be anything; what can't be understood says nothing, and nothing here raises.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

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
"""The name of a type, and what says more of it: its bits, its length, the types inside of it."""


WRAPPER = "jsonSchema"
"""Key under which some libraries hold a schema."""


class Shape:
    """One value's schema, and the root in which its references are resolved.

    What it says is read once: there is one shape for each place of the root, however many values are read by it.
    """

    def __init__(self, schema: Any, root: Mapping[str, Any], known: "dict[int, Shape] | None" = None) -> None:
        """`known` are the shapes of the same root by the identity of their schemas."""
        self.schema = schema
        self.root = root
        self.alternatives = tuple(alternatives(schema, root))
        """The schema and all that it leads to."""
        self.keys: dict[str, tuple[list[Shape], bool]] = {}
        """Of keys that were asked for: the schemas of the value, and whether the schema has the key."""
        self._known = {} if known is None else known

    @cached_property
    def types(self) -> frozenset[str]:
        """Every JSON type that the value may have; empty if the schema does not say."""
        found: set[str] = set()
        for schema in self.alternatives:
            found |= _own_types(schema)
        if found and any(is_nullable(schema) for schema in self.alternatives):
            found.add("null")
        return frozenset(found)

    def child(self, name: str) -> "Shape":
        """The schema of an object's value of this key."""
        for schema in self.alternatives:
            properties = schema.get("properties")
            if isinstance(properties, Mapping) and name in properties:
                return self.inner(properties[name])
        return self._others

    def item(self) -> "Shape":
        """The schema of an array's elements."""
        return self._items

    @cached_property
    def _others(self) -> "Shape":
        return self._first("additionalProperties")

    @cached_property
    def _items(self) -> "Shape":
        return self._first("items")

    def _first(self, keyword: str) -> "Shape":
        for schema in self.alternatives:
            if keyword in schema:
                return self.inner(schema[keyword])
        return NO_SHAPE

    def inner(self, schema: Any) -> "Shape":
        """The shape of a schema that is a part of this one."""
        found = self._known.get(id(schema))
        if found is None:
            found = self._known[id(schema)] = Shape(schema, self.root, self._known)
        return found


def alternatives(schema: Any, root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schema and all that `anyOf`, `oneOf`, `allOf`, `$ref` and wrappers lead to, each once: circles end."""
    waiting, seen = [schema], set[int]()
    while waiting:
        found = waiting.pop()
        if not isinstance(found, Mapping) or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        parts = [found.get(combined) for combined in ("anyOf", "oneOf", "allOf")]
        inner = [part for several in parts if isinstance(several, list) for part in several]
        if isinstance(reference := found.get("$ref"), str):
            inner.append(resolve(reference, root))
        inner.append(found.get(WRAPPER))
        waiting += reversed(inner)


def is_nullable(schema: Mapping[str, Any]) -> bool:
    """Whether the value may be null, too, as OpenAPI says it."""
    return schema.get("nullable") is True


def _own_types(schema: Mapping[str, Any]) -> set[str]:
    """The types that `type` names, else those of the values in `enum` and `const`."""
    declared = schema.get("type")
    names = declared if isinstance(declared, list) else [declared]
    found = {kind for name in names if isinstance(name, str) and (kind := _named(name))}
    if not found:
        values = schema.get("enum")
        found = {_kind(value) for value in values} if isinstance(values, list) else set()
        found |= {_kind(schema["const"])} if "const" in schema else set()
    return found


def _named(name: str) -> str:
    """The JSON type of this name; empty if there is none."""
    found = _TYPE.match(name.strip().lower())
    return _KINDS.get(found[1], "") if found else ""


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def resolve(reference: str, root: Mapping[str, Any]) -> Any:
    """A reference inside the same schema: `#/$defs/Name`, or `#` for all of it."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    path = reference.removeprefix("#").removeprefix("/")
    for step in path.split("/") if path else ():
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


NO_SHAPE = Shape(None, {})
"""A schema that says nothing."""
