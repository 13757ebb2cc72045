"""Keys and elements in schemas."""

from typing import Any

import pytest

from tokenmill.parser.schema import Shape
from tokenmill.parser.schema_keys import KEYS, allows_key, item_shapes, kinds, lists_key, renamed, value_shapes

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
        (False, "a", False),
        (True, "a", True),
    ],
)
def test_keys_that_a_schema_allows(schema: Any, key: str, allowed: bool) -> None:
    """Also through what it combines; circles end."""
    assert allows_key(shape(schema), key) is allowed


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
