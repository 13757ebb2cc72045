"""Values made to fit a schema, and checked."""

import random
import resource
import sys
import time
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.limits import KIB
from tokenmill.parser.run.rules import Tool
from tokenmill.parser.values.checked import checkable
from tokenmill.parser.values.conform import VALIDATORS_BYTES, _validators, conform, keeps_text, kept
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


SLOW = "a[ab]{1000}[cd]"
"""A pattern that the engine holds against each character a thousand times."""


@pytest.mark.timeout(5)
def test_a_pattern_is_not_held_against_a_text_for_which_it_takes_too_long() -> None:
    """A short text is held against it, a long one against what else the schema has."""
    tool = Tool("f", {"properties": {"a": {"pattern": SLOW}, "b": {"pattern": "^x+$", "type": "string"}}})
    long = "aababbabba" * 20_000
    assert tool.mismatch({"a": long[:1_000]}, 10) is not None
    assert tool.mismatch({"a": long, "b": "x"}, 10) is None
    assert tool.mismatch({"a": long, "b": "y"}, 10) is not None
    assert tool.mismatch({"a": {long: ["x"]}, "b": 1}, 10) is not None


@pytest.mark.timeout(5)
def test_patterns_that_are_large_when_they_are_compiled_check_nothing() -> None:
    """Each of these would take ten megabytes. The patterns beside them, and all else, are checked."""
    large = {f"a{n}": {"pattern": f"((x{n}{{50}}){{50}}){{30}}", "type": "string"} for n in range(200)}
    tool = Tool("f", {"properties": large | {"b": {"pattern": "^x+$"}}})
    assert tool.mismatch({"a1": "y", "b": "x"}, 10) is None
    assert tool.mismatch({"a1": "y", "b": "y"}, 10) is not None
    assert tool.mismatch({"a1": 1}, 10) is not None


@pytest.mark.timeout(5)
def test_a_pattern_counts_as_often_as_it_is_held_against_a_value() -> None:
    """References may lead to one pattern thousands of times."""
    schema = {"$defs": {"a": {"pattern": SLOW}}, "properties": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 2_000}}}
    assert Tool("f", schema).mismatch({"a": "aababbabba" * 400}, 10) is None


def checks(schema: dict[str, Any], wrong: Any) -> bool:
    """Whether a check finds what is wrong, in no more than a second even on a slow machine."""
    begun = time.process_time()
    found = Tool("f", schema).mismatch(wrong, 10) is not None
    assert time.process_time() - begun < 1
    return found


def test_patterns_that_take_long_to_compile_check_nothing() -> None:
    """Thousands of them, long ones, and those that ignore the case of large classes. What is short is checked."""
    short = {"properties": {"b": {"pattern": "^x+$"}}}
    many: dict[str, Any] = {f"^[a-z]{{1,{20 + n}}}$": {} for n in range(6_000)}
    costly = r"(?i)\p{Any}" + r"\p{Any}" * 140
    long: dict[str, Any] = {r"\p{L}" * 100_000: {}}
    each: dict[str, Any] = {f"{costly}{n}": {} for n in range(5)}
    for further in (many, long, each):
        schema = {**short, "patternProperties": further}
        assert checks(schema, {"b": "y"})
        assert not checks(schema, {"b": "x"})


@pytest.mark.parametrize("place", ["dependencies", "elsewhere"])
def test_patterns_have_bounds_wherever_they_stand(place: str) -> None:
    """The library reads old keywords, and references lead to keywords that it does not know."""
    slow = {"properties": {"a": {"allOf": [{"pattern": f"{SLOW}{n}"} for n in range(15)]}}}
    led = {"$ref": "#/elsewhere/a"} if place == "elsewhere" else {}
    assert not checks({**led, place: {"a": slow}}, {"a": "aababbabba" * 20_000})


def test_a_schema_that_the_library_refuses_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal is remembered as validators are."""
    counted = Mock(side_effect=checkable)
    monkeypatch.setattr("tokenmill.parser.values.conform.checkable", counted)
    tool = Tool("f", {"type": "nonsense", "patternProperties": {f"^only-in-this-test{n}$": {} for n in range(2_000)}})
    assert [tool.mismatch({"a": "x"}, 10) for _ in range(3)] == [None] * 3
    assert counted.call_count == 1


def test_validators_that_are_kept_have_a_bound() -> None:
    """Those of large schemas are megabytes, and each length of a value has its own."""
    for number in range(8):
        names = {f"n{number}_{each}": {"type": "string"} for each in range(9_000)}
        assert Tool("f", {"properties": names | {"a": {"pattern": "^x$"}}}).mismatch({"a": "y"}, 10) is not None
    assert 0 < _validators.bytes <= VALIDATORS_BYTES


def test_matching_leaves_little_memory() -> None:
    """The engine keeps what it found out about a pattern: unbounded, that is a megabyte for each of these."""
    alphabet, most = random.Random(1), peak_kib() + 48 * KIB
    for round_ in range(2):
        patterns = [{"pattern": f"a[ab]{{{8 + n % 6}}}c{n}{round_}"} for n in range(50)]
        tool = Tool("f", {"properties": {"a": {"anyOf": patterns}}})
        for _ in range(2):
            assert tool.mismatch({"a": "".join(alphabet.choices("ab", k=8_000))}, 10) is not None
    assert peak_kib() < most


def peak_kib() -> int:
    """The most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // KIB if sys.platform == "darwin" else peak


@pytest.mark.parametrize("pattern", [r"^\d{4}-\d{2}-\d{2}$", r"^https?://", r"^[a-z0-9-]+$"])
def test_an_ordinary_pattern_is_held_against_a_whole_file(pattern: str) -> None:
    """Arguments that hold a file of 200 kB are checked as all others."""
    schema = {"properties": {"a": {"pattern": pattern}, "content": {"type": "string"}}}
    assert checks(schema, {"a": "_", "content": "x" * 200_000})


@pytest.mark.timeout(5)
def test_large_arguments_against_a_large_schema_are_not_checked() -> None:
    """A long list of values against a long list of alternatives is more than the bound."""
    schema = {"properties": {"a": {"items": {"enum": [{"n": n} for n in range(2_000)]}}}}
    assert Tool("f", schema).mismatch({"a": [{"n": -1}]}, 20) is not None
    assert Tool("f", schema).mismatch({"a": [{"n": -1}] * 4_000}, 100_000) is None
