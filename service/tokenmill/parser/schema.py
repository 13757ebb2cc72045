"""What a JSON schema says of the values in it: their types, and the schemas of what is inside of them.

A schema comes from the producer and may be anything; what can't be understood says nothing, and nothing here raises.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_KINDS: dict[str, str] = {
    **{kind: kind for kind in ("null", "integer", "number", "boolean", "object", "array", "string")},
    **dict.fromkeys(("str", "text", "varchar", "char", "enum"), "string"),
    **dict.fromkeys(("int", "int8", "int16", "int32", "int64", "uint", "long", "short", "bigint"), "integer"),
    **dict.fromkeys(("float", "float32", "float64", "double", "decimal", "num"), "number"),
    "bool": "boolean",
    **dict.fromkeys(("dict", "map"), "object"),
    **dict.fromkeys(("list", "tuple"), "array"),
}
"""JSON types by their names, and by names that other type systems give them."""


WRAPPER = "jsonSchema"
"""Key under which some libraries hold a schema."""


class Shape(NamedTuple):
    """One value's schema, and the root in which its references are resolved."""

    schema: Any
    root: Mapping[str, Any]

    @property
    def types(self) -> frozenset[str]:
        """Every JSON type that the value may have; empty if the schema does not say."""
        found: set[str] = set()
        for schema in alternatives(self.schema, self.root):
            found |= _own_types(schema)
        return frozenset(found)

    def child(self, name: str) -> "Shape":
        """The schema of an object's value of this key."""
        for schema in alternatives(self.schema, self.root):
            properties = schema.get("properties")
            if isinstance(properties, Mapping) and name in properties:
                return Shape(properties[name], self.root)
        return self._first("additionalProperties")

    def item(self) -> "Shape":
        """The schema of an array's elements."""
        return self._first("items")

    def _first(self, keyword: str) -> "Shape":
        for schema in alternatives(self.schema, self.root):
            if keyword in schema:
                return Shape(schema[keyword], self.root)
        return Shape(None, self.root)


NO_SHAPE = Shape(None, {})
"""A schema that says nothing."""


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


def _own_types(schema: Mapping[str, Any]) -> set[str]:
    """The types that `type` names, else those of the values in `enum` and `const`."""
    declared = schema.get("type")
    names = declared if isinstance(declared, list) else [declared]
    found = {_KINDS[name.lower()] for name in names if isinstance(name, str) and name.lower() in _KINDS}
    if not found:
        values = schema.get("enum")
        found = {_kind(value) for value in values} if isinstance(values, list) else set()
        found |= {_kind(schema["const"])} if "const" in schema else set()
    return found


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def resolve(reference: str, root: Mapping[str, Any]) -> Any:
    """A reference inside the same schema: `#/$defs/Name`."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference.removeprefix("#").removeprefix("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
