"""What a schema says of values at any depth."""

from typing import Any

import pytest

from tokenmill.parser.schema import NO_SHAPE, Shape

ROOT: dict[str, Any] = {
    "properties": {
        "where": {"$ref": "#/$defs/Where"},
        "many": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Where"}]}},
        "free": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "loop": {"$ref": "#/properties/loop"},
        "openapi": {
            "properties": {
                "text": {"type": "string", "nullable": True},
                "one": {"oneOf": [{"type": "integer", "nullable": True}, {"type": "string"}]},
                "where": {"$ref": "#/$defs/Where/properties/zip", "nullable": True},
                "any": {"nullable": True},
                "no": {"type": "string", "nullable": False},
            }
        },
        "odd": {"properties": [], "items": 7, "anyOf": "x", "$ref": 5, "type": {}},
    },
    "$defs": {"Where": {"type": ["object", "null"], "properties": {"zip": {"type": "Int64"}}}},
}


@pytest.mark.parametrize(
    ("path", "types"),
    [
        ("where", {"object", "null"}),
        ("where zip", {"integer"}),
        ("where other", set()),
        ("many", {"array"}),
        ("many -", {"integer", "object", "null"}),
        ("many - zip", {"integer"}),
        ("free any", {"boolean"}),
        ("free any more", set()),
        ("loop", set()),
        ("loop x", set()),
        ("odd", set()),
        ("odd x", set()),
        ("odd -", set()),
        ("openapi text", {"string", "null"}),
        ("openapi one", {"integer", "string", "null"}),
        ("openapi where", {"integer", "null"}),
        ("openapi any", set()),
        ("openapi no", {"string"}),
        ("nothing", set()),
    ],
)
def test_types_at_a_path(path: str, types: set[str]) -> None:
    """Down the tree by key, `-` for an array's elements, through references and combinations."""
    shape = Shape(ROOT, ROOT)
    for step in path.split():
        shape = shape.item() if step == "-" else shape.child(step)
    assert shape.types == types


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("int", "int8", "UInt32", "uint64", "unsigned", "unsigned int", "long", "short", "bigint"), "integer"),
        (("float64", "double", "decimal(10, 2)", "num", "numeric"), "number"),
        (("bool", "binary"), "boolean"),
        (("dict", "dict[str, int]", "Dict[str, list[int]]", "map<string, int>"), "object"),
        (("arr", "sequence", "set", "list[str]", "List[dict[str, int]]", "tuple", "array<string>"), "array"),
        (("str", "varchar(255)", "char", "enum", "text"), "string"),
        (("date", "int | str", "list[int] | str", "string[]", "internal", ""), ""),
    ],
)
def test_names_of_other_type_systems(names: tuple[str, ...], kind: str) -> None:
    """A type means the same whatever its bits, its length or the types inside of it; an unknown name says nothing."""
    for name in names:
        assert Shape({"type": name}, {}).types == ({kind} if kind else set()), name


def test_a_schema_that_says_nothing() -> None:
    """No types, and nothing inside."""
    assert not any((NO_SHAPE.types, NO_SHAPE.child("a").types, NO_SHAPE.item().types))


def test_circles_are_gone_through_once() -> None:
    """A schema that leads to itself in many ways costs no more than its size."""
    root: dict[str, Any] = {"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}] * 200 + [{"type": "null"}]}}}
    assert Shape(root, root).child("a").types == {"null"}


def test_one_shape_for_one_place() -> None:
    """What was read of a schema is read once, however often and on whichever way values lead there."""
    root: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}, "items": {"$ref": "#"}}
    shape = Shape(root, root)
    assert shape.child("a") is shape.child("a")
    assert shape.item().child("a") is shape.item().item().child("a") is shape.child("a")
