"""Values made to fit a schema."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.parser.values.conform import conform, keeps_text, kept
from tokenmill.parser.values.schema import Shape

NUMBER, STRING, BOOLEAN = {"type": "number"}, {"type": "string"}, {"type": "boolean"}
NUMBERS, STRINGS = {"type": "array", "items": NUMBER}, {"type": "array", "items": STRING}
POINT = {"type": "object", "properties": {"x": NUMBER, "y": NUMBER}, "additionalProperties": False}


def shape(schema: Any) -> Shape:
    """A schema that is its own root."""
    return Shape(schema, schema if isinstance(schema, dict) else {})


@pytest.mark.parametrize(
    ("value", "schema", "conformed"),
    [
        (" 3 ", NUMBER, 3),
        ("-1.50", NUMBER, -1.5),
        ("1e3", NUMBER, 1000),
        ("9007199254740993", NUMBER, 9007199254740993),
        ("1e400", NUMBER, "1e400"),
        ("3 days", NUMBER, "3 days"),
        ("0x10", NUMBER, "0x10"),
        ("2.0", {"type": "integer"}, 2),
        ("2.5", {"type": "integer"}, "2.5"),
        ("TRUE", BOOLEAN, True),
        ("yes", BOOLEAN, "yes"),
        ("null", {"type": "null"}, "null"),
        ("null", {"type": ["string", "null"]}, "null"),
        ("5", {"type": ["string", "number"]}, "5"),
        (" a ", STRING, " a "),
        ("5", {}, "5"),
        ("5", None, "5"),
    ],
)
def test_text_becomes_what_it_is_written_as(value: str, schema: Any, conformed: Any) -> None:
    """Or stays."""
    assert conform(value, shape(schema)) == conformed


@pytest.mark.parametrize(
    ("value", "conformed"),
    [
        (5, "5"),
        (1.0, "1"),
        (0.5, "0.5"),
        (True, "true"),
        (None, None),
        ([1], [1]),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}),
    ],
)
def test_a_single_value_becomes_text(value: Any, conformed: Any) -> None:
    """As JSON has it; others stay."""
    assert conform(value, shape(STRING)) == conformed


@pytest.mark.parametrize(
    ("value", "schema", "conformed"),
    [
        ("1, 2,3", NUMBERS, [1, 2, 3]),
        ("1\n2\n", NUMBERS, [1, 2]),
        ("['1', 2]", NUMBERS, [1, 2]),
        ("", NUMBERS, []),
        ("a b", STRINGS, ["a b"]),
        ("<item>1</item><item>2</item>", NUMBERS, [1, 2]),
        ("{'x': '1'}", {"type": "array", "items": POINT}, [{"x": 1}]),
        ("a, b", {"type": "array", "items": POINT}, ["a, b"]),
        (7, STRINGS, ["7"]),
        (["1", "x"], NUMBERS, [1, "x"]),
        ({"item": ["1", "2"], "0": "9"}, NUMBERS, [1, 2]),
        ({"item": "1"}, NUMBERS, [1]),
        ({"2": "c", "0": "a", "10": "d"}, STRINGS, ["a", "c", "d"]),
        ({"0": "a", "x": "b"}, STRINGS, [{"0": "a", "x": "b"}]),
        ({"number": ["1", "2"]}, NUMBERS, [1, 2]),
        ({"number": "3"}, NUMBERS, [3]),
        ({"number": {"value": "3"}}, NUMBERS, [3]),
        ({"point": {"x": "1"}}, {"type": "array", "items": POINT}, [{"x": 1}]),
        ({"point": {"x": "1"}}, {"type": "array", "items": {"type": "object"}}, [{"point": {"x": "1"}}]),
        ({"point": 1}, {"type": "array"}, [{"point": 1}]),
        ({"x": ["1", "2"], "y": ["3", "4"]}, {"type": "array", "items": POINT}, [{"x": 1, "y": 3}, {"x": 2, "y": 4}]),
        ({"x": ["1"], "y": ["3", "4"]}, {"type": "array", "items": POINT}, [{"x": ["1"], "y": ["3", "4"]}]),
        ({"row": {"item": ["1"]}}, {"type": "array", "items": NUMBERS}, [[1]]),
        ({}, STRINGS, [{}]),
        (["1", "a"], {"type": "array", "prefixItems": [NUMBER, STRING]}, [1, "a"]),
        (["1", "2"], {"type": "array", "prefixItems": [NUMBER], "items": STRING}, ["1", "2"]),
    ],
)
def test_arrays_are_made_of_what_stands_for_them(value: Any, schema: Any, conformed: Any) -> None:
    """Each way in which models write one."""
    assert conform(value, shape(schema)) == conformed


@pytest.mark.parametrize(
    ("value", "schema", "conformed"),
    [
        ('{"x": "1"}', POINT, {"x": 1}),
        ("{'x': '1', 'y': None,}", POINT, {"x": 1, "y": None}),
        ("<x>1</x>", POINT, {"x": 1}),
        ("x=1", POINT, "x=1"),
        ("{oops", POINT, "{oops"),
        ({"x": "1", "z": "2"}, POINT, {"x": 1, "z": "2"}),
        ({"a": "1"}, {"additionalProperties": NUMBER}, {"a": 1}),
        ({"a": "1"}, {"properties": {"a": STRING}, "patternProperties": {"a": NUMBER}}, {"a": 1}),
        ({"e": {"v": "x"}}, STRING, "x"),
        ({"e": {"v": "x", "w": 1}}, STRING, {"e": {"v": "x", "w": 1}}),
        ({"e": "1"}, NUMBER, 1),
        ({"@unit": "m", "#text": " 1.5 "}, NUMBER, 1.5),
        ([{"@k": "x", "#text": " a "}], STRINGS, ["a"]),
        ({"o": {"x": "1"}}, {"properties": {"o": {"jsonSchema": POINT}}}, {"o": {"x": 1}}),
        ({"o": {"x": "1"}}, {"properties": {"o": {"$ref": "#/$defs/p"}}, "$defs": {"p": POINT}}, {"o": {"x": 1}}),
    ],
)
def test_objects(value: Any, schema: Any, conformed: Any) -> None:
    """From text, and what is inside of them; one that is not wanted is opened if it holds one thing."""
    assert conform(value, shape(schema)) == conformed


@pytest.mark.parametrize(
    ("value", "enum", "conformed"),
    [
        ("1 d", ["1d", "2d"], "1d"),
        ('"1d"', ["1d"], "1d"),
        ("1 d", ["1d", "1  d"], "1 d"),
        ("1d", ["1d", "1 d"], "1d"),
        ("1 d", [1, "1d"], "1 d"),
        ("3d", ["1d"], "3d"),
    ],
)
def test_an_enum_says_how_a_text_is_spelled(value: str, enum: list[Any], conformed: str) -> None:
    """Only if one value alone can be meant."""
    assert conform(value, shape({"type": "string", "enum": enum})) == conformed


@pytest.mark.parametrize(
    ("schema", "certain"),
    [
        ({}, True),
        ({"properties": {"a": {}}}, True),
        ({"properties": {"a": {"type": ["string", "null"]}}}, True),
        ({"properties": {"a": {"type": "string", "enum": ["x"]}}}, False),
        ({"properties": {"a": {"type": "integer"}}}, False),
        ({"properties": {"a": {"items": {}}}}, False),
        ({"properties": {"b": {}}}, False),
        ({"properties": {"a": False}}, False),
        ({"additionalProperties": {"type": "number"}}, False),
    ],
)
def test_text_is_certain_only_where_nothing_would_change_it(schema: Any, *, certain: bool) -> None:
    """Then it may be sent before the object is complete."""
    assert keeps_text(Shape(schema, schema), "a") is certain


def test_unknown_keys_are_left_out_afterwards() -> None:
    """On every level, where the schema lists keys."""
    schema = {
        "properties": {"p": POINT, "l": {"type": "array", "items": POINT}, "any": {"type": "object"}, "no": False}
    }
    value = {"p": {"x": 1, "z": 2}, "l": [{"z": 1}, 3], "any": {"z": 1}, "no": 1, "z": 1}
    assert kept(value, shape(schema)) == {"p": {"x": 1}, "l": [{}, 3], "any": {"z": 1}}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text("ab1.,<>{}[]\"'/ \n"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["0", "1", "item", "x", "y"]), inner),
    max_leaves=8,
)
schemas = st.recursive(
    st.sampled_from([NUMBER, STRING, BOOLEAN, POINT, {}, None, True, False, {"type": "integer"}, {"$ref": "#"}]),
    lambda inner: st.builds(
        lambda kind, one: {"type": kind, "items": one, "properties": {"x": one}, "anyOf": [one], "required": ["x"]},
        st.sampled_from(["array", "object", "string", ["array", "string"], "nonsense", 7]),
        inner,
    ),
    max_leaves=4,
)


@given(anything, schemas)
def test_no_value_and_no_schema_raises(value: Any, schema: Any) -> None:
    """Both come from outside."""
    kept(conform(value, shape(schema)), shape(schema))


def test_what_is_deeper_than_readers_bear_is_left_alone() -> None:
    """A schema may lead in circles as long as a value does."""
    value: Any = "1"
    for _ in range(2000):
        value = {"a": value}
    schema = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    assert kept(conform(value, shape(schema)), shape(schema))
