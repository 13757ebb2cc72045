"""What a schema says of values at any depth."""

import time
from typing import Any

import pytest

from tokenmill.parser.values.schema import (
    FEW,
    FOLLOWED,
    KEYS,
    NO_SHAPE,
    PATTERNS,
    Shape,
    allows_key,
    item_shapes,
    kinds,
    lists_key,
    renamed,
    value_shapes,
)

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
        shape = shape.item if step == "-" else shape.child(step)
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
    assert not any((NO_SHAPE.types, NO_SHAPE.child("a").types, NO_SHAPE.item.types))


def test_circles_are_gone_through_once() -> None:
    """A schema that leads to itself in many ways costs no more than its size."""
    root: dict[str, Any] = {"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}] * 200 + [{"type": "null"}]}}}
    assert Shape(root, root).child("a").types == {"null"}


def test_one_shape_for_one_place() -> None:
    """What was read of a schema is read once, however often and on whichever way values lead there."""
    root: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}, "items": {"$ref": "#"}}
    shape = Shape(root, root)
    assert shape.child("a") is shape.child("a")
    assert shape.item.child("a") is shape.item.item.child("a") is shape.child("a")


OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}}


def shape(schema: Any) -> Shape:
    """A schema that is its own root."""
    return Shape(schema, schema if isinstance(schema, dict) else {})


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"type": ["string", "null"]}, {"string", "null"}),
        ({"properties": {}}, {"object"}),
        ({"patternProperties": {}}, {"object"}),
        ({"prefixItems": []}, {"array"}),
        ({"anyOf": [{"items": {}}, {"additionalProperties": True}]}, {"array", "object"}),
        ({}, set()),
        (True, set()),
        (None, set()),
    ],
)
def test_types_are_told_by_keywords_too(schema: Any, types: set[str]) -> None:
    """Where `type` does not tell them."""
    assert kinds(shape(schema)) == types


@pytest.mark.parametrize(
    ("schema", "key", "found"),
    [
        (OBJECT, "a", [{"type": "string"}]),
        (OBJECT, "b", []),
        ({**OBJECT, "patternProperties": {"^a": {"minLength": 1}}}, "a", [{"type": "string"}, {"minLength": 1}]),
        ({**OBJECT, "additionalProperties": {"type": "number"}}, "b", [{"type": "number"}]),
        ({**OBJECT, "additionalProperties": True}, "b", []),
        ({"allOf": [OBJECT, {"properties": {"a": {"maxLength": 2}}}]}, "a", [{"type": "string"}, {"maxLength": 2}]),
        ({"patternProperties": {"(": {}}, "properties": []}, "(", []),
    ],
)
def test_the_schemas_of_a_value(schema: Any, key: str, found: list[Any]) -> None:
    """All that speak of it, by name or by pattern; else that of the rest."""
    assert [inner.schema for inner in value_shapes(shape(schema), key)] == found


@pytest.mark.parametrize(
    ("schema", "key", "known"),
    [
        (OBJECT, "a", True),
        (OBJECT, "b", False),
        ({"type": "object"}, "b", True),
        ({"type": "object", "properties": {}}, "b", False),
        ({**OBJECT, "additionalProperties": True}, "b", True),
        ({**OBJECT, "additionalProperties": {}}, "b", True),
        ({"properties": {"a": False}, "additionalProperties": True}, "a", False),
        ({"patternProperties": {"^x": {}}}, "xa", True),
        ({"patternProperties": {"^x": {}}}, "a", False),
        ({"patternProperties": {"^x": False}, "additionalProperties": True}, "xa", False),
        ({"anyOf": [OBJECT, {"properties": {"b": {}}}]}, "b", True),
        (None, "a", True),
    ],
)
def test_keys_that_a_schema_lists(schema: Any, key: str, known: bool) -> None:
    """All, where it lists none."""
    assert lists_key(shape(schema), key) is known


STRICT = {**OBJECT, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "key", "allowed"),
    [
        (OBJECT, "b", True),
        (STRICT, "a", True),
        (STRICT, "b", False),
        ({"properties": {"a": False}}, "a", False),
        ({"allOf": [STRICT, {}]}, "b", False),
        ({"anyOf": [STRICT, {}]}, "b", True),
        ({"oneOf": [STRICT, STRICT]}, "b", False),
        ({"$ref": "#/$defs/s", "$defs": {"s": STRICT}}, "b", False),
        ({"$ref": "#"}, "b", True),
        ({"anyOf": [{"$ref": "#"}, STRICT], "properties": {"b": False}}, "b", False),
        ({"allOf": [{"$ref": "#/allOf/1"}, STRICT]}, "b", False),
        (False, "a", False),
        (True, "a", True),
    ],
)
def test_keys_that_a_schema_allows(schema: Any, key: str, allowed: bool) -> None:
    """Also through what it combines; circles end."""
    assert allows_key(shape(schema), key) is allowed


@pytest.mark.timeout(5)
def test_each_combined_schema_is_asked_once_for_a_key() -> None:
    """Definitions of which each leads twice to the next are as many as they are, and not twice as many with each."""
    definitions = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}
    root = {"$ref": "#/$defs/d0", "$defs": definitions | {"d30": {"type": "object"}}}
    assert allows_key(shape(root), "a")
    assert not allows_key(shape({**root, "$defs": definitions | {"d30": STRICT}}), "b")


@pytest.mark.parametrize(
    ("schema", "count", "found"),
    [
        ({"items": {"type": "string"}}, 2, [{"type": "string"}] * 2),
        ({"prefixItems": [{"a": 1}, {"b": 1}]}, 2, [{"a": 1}, {"b": 1}]),
        ({"items": [{"a": 1}, {"b": 1}]}, 2, [{"a": 1}, {"b": 1}]),
        ({"prefixItems": [{"a": 1}], "items": {"c": 1}}, 2, [{"c": 1}] * 2),
        ({"items": True}, 1, [None]),
        ({}, 1, [None]),
    ],
)
def test_schemas_of_elements(schema: Any, count: int, found: list[Any]) -> None:
    """By position only if there are as many."""
    assert [inner.schema for inner in item_shapes(shape(schema), count)] == found


@pytest.mark.parametrize(
    ("value", "wanted", "kind", "found"),
    [
        ({"target_lang": 1}, "targetLang", "string", {"targetLang": 1}),
        ({"_TargetLang": 1}, "target_lang", "string", {"target_lang": 1}),
        ({"tag": 1}, "tags", "array", {"tags": 1}),
        ({"city": 1}, "cities", "array", {"cities": 1}),
        ({"tag": 1}, "tags", "string", {"tag": 1}),
        ({"a_b": 1, "aB": 2}, "ab", "string", {"a_b": 1, "aB": 2}),
        ({"ab": 1, "a_b": 2}, "ab", "string", {"ab": 1, "a_b": 2}),
    ],
)
def test_keys_are_renamed_to_what_is_missing(value: Any, wanted: str, kind: str, found: Any) -> None:
    """Only where nothing else is allowed and one key alone can be meant."""
    strict = {"properties": {wanted: {"type": kind}}, "required": [wanted], "additionalProperties": False}
    assert renamed(value, shape(strict)) == found
    assert renamed(value, shape({**strict, "additionalProperties": True})) == value
    assert renamed(value, shape({**strict, "required": "x"})) == value


def test_what_is_remembered_of_keys_has_a_bound() -> None:
    """They come from the model; one that is not remembered is read again, with the same answer."""
    known = shape(OBJECT)
    keys = [f"key {number}" for number in range(2 * KEYS)]
    assert not any(lists_key(known, key) for key in keys)
    assert len(known.keys) == KEYS
    assert (lists_key(known, "a"), lists_key(known, keys[-1])) == (True, False)
    assert [inner.types for inner in value_shapes(known, "a")] == [{"string"}]


def test_what_many_alternatives_say_is_told_by_name() -> None:
    """As if each were asked: by name, by pattern, in their order, and of all others."""
    ends = [{"patternProperties": {"^a": {"const": 1}}}, {"additionalProperties": {"type": "null"}}, {"properties": 5}]
    few = [{"properties": {"a0": {"type": "string"}}}, *ends, {"properties": {"a0": {"type": "integer"}, "b": False}}]
    many = shape({"anyOf": [{"properties": {f"x{n}": {}}} for n in range(2 * FEW)] + few})
    for key in ("a0", "a1", "b", "c"):
        said = value_shapes(many, key), value_shapes(shape({"anyOf": few}), key)
        assert [inner.schema for inner in said[0]] == [inner.schema for inner in said[1]], key
        assert lists_key(many, key) is lists_key(shape({"anyOf": few}), key), key
    assert many.child("b").schema is False
    assert [inner.schema for inner in value_shapes(many, "x1")] == [{}]


@pytest.mark.parametrize(("size", "types"), [(FEW // 2, {"integer"}), (FEW + 1, {"integer"}), (FOLLOWED, set())])
def test_what_leads_to_too_much_says_only_what_it_says_itself(size: int, types: set[str]) -> None:
    """Many properties that all lead to many schemas; what leads to few is followed as ever."""
    ends = {"ends": {"anyOf": [{"type": "integer"}] + [{} for _ in range(min(size, 2000))]}}
    lead = {f"p{n}": {"$ref": "#/$defs/ends"} for n in range(1 + FOLLOWED // 2000 * (size == FOLLOWED))}
    schema = {"properties": lead | {"few": {"$ref": "#/$defs/few"}}, "$defs": ends | {"few": {"type": "null"}}}
    known = shape(schema)
    assert known.child("few").types == {"null"}
    assert known.child("p0").types == types
    assert lists_key(known, "p0")


def test_what_many_places_lead_to_is_read_once() -> None:
    """Many values of one list, and a place that is named at length."""
    long = "/".join(["#", *("$defs" for _ in range(200))])
    ends: dict[str, Any] = {"e": {"enum": list(range(20_000))}, "l": {"allOf": [{"$ref": long} for _ in range(30)]}}
    leads = {f"p{n}": {"$ref": f"#/$defs/{'el'[n % 2]}"} for n in range(3000)}
    begun = time.process_time()
    known = shape({"properties": leads, "$defs": ends})
    types = [value_shapes(known, name)[0].types for name in leads]
    assert types == [{"integer"}, set()] * 1500
    assert time.process_time() - begun < 2


def test_a_key_is_held_against_so_many_patterns() -> None:
    """Those of all alternatives together; names are found as ever."""
    first: Any = {"patternProperties": {f"^{n}$": {} for n in range(PATTERNS - 1)}}
    last: Any = {"patternProperties": {"^a": {}, "^b": {}}, "properties": {"c": {}}}
    for schema in ({"anyOf": [first, last]}, {"anyOf": [first, *({} for _ in range(FEW)), last]}):
        known = shape(schema)
        assert [lists_key(known, key) for key in ("5", "a", "b", "c")] == [True, True, False, True]
