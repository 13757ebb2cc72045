"""The ladder from text to a value of a type that the schema allows, one row a rule; arguments of such texts."""

from typing import Any

import pytest

from tokenmill.limits import JSON_DEPTH
from tokenmill.parser.values.coerce import Syntax, coerce, is_text, read_arguments, read_typed
from tokenmill.parser.values.schema import NO_SHAPE, Shape


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("12", "", "12"),
        (" 00123 ", "string", " 00123 "),
        ("null", "string", "null"),
        ("null", "null", None),
        ("NULL", "null integer", None),
        ("null", "string null", None),
        (" null", "string null", " null"),
        ("None", "null integer", None),
        (" None\n", "null object", None),
        ("None", "integer", "None"),
        ("None", "string null", "None"),
        ("None", "string null integer", "None"),
        ("none", "null integer", "none"),
        ("12", "integer", 12),
        ("+12", "integer", 12),
        ("12.0", "integer", "12.0"),
        ("9" * 40, "integer", int("9" * 40)),
        ("9" * 5000, "integer", "9" * 5000),
        ("12", "number", 12),
        ("9" * 40, "number", int("9" * 40)),
        ("1.5", "number", 1.5),
        (".5e-3", "number", 0.0005),
        ("1e999", "number", "1e999"),
        ("NaN", "number", "NaN"),
        ("Infinity", "number", "Infinity"),
        ("1_000", "integer number", "1_000"),
        ("true", "boolean", True),
        ("False", "boolean", False),
        ("1", "boolean", True),
        ("1", "boolean integer", 1),
        ("yes", "boolean", "yes"),
        ('{"a": [1]}', "object", {"a": [1]}),
        ('{"a": [1]}', "array", '{"a": [1]}'),
        ('["x"]', "array", ["x"]),
        ("{a: 1}", "object", {"a": 1}),
        ("{a}", "object", "{a}"),
        ("[" * 5000, "array", "[" * 5000),
        ("{'a': [None, '\\x1b']}", "object", {"a": [None, "\x1b"]}),
        ("{'a': [None, '\\x1b']}", "object string", {"a": [None, "\x1b"]}),
        ("['a']", "object string", "['a']"),
        ("{a: 1}", "object string", "{a: 1}"),
        ("{'a': True}", "json", {"a": True}),
        ("[None]", "json", [None]),
        ("{a: 1}", "json", "{a: 1}"),
        ("{'a'}", "json", "{'a'}"),
        ("[x for x in y]", "json", "[x for x in y]"),
        (" None", "json", None),
        ("True", "json", True),
        ("False", "json", False),
        ("none", "json", "none"),
        ("12", "string integer", 12),
        ("x", "string integer", "x"),
    ],
)
def test_ladder(text: str, types: str, expected: Any) -> None:
    """The first type that fits, in order; the text itself where none does."""
    value = coerce(text, frozenset(types.split()))
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("types", "expected"),
    [("", True), ("string", True), ("string null", None), ("string integer", False), ("integer", False)],
)
def test_certainty(types: str, expected: bool | None) -> None:  # a parameter of the table
    """Only what is certain to be text may be sent before it is complete."""
    assert is_text(frozenset(types.split())) is expected


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ('{"a": 1}', "object", ({"a": 1}, False)),
        ('{"a": "x\ny"}', "object", ({"a": "x\ny"}, True)),
        ('{\\"a\\": \\"x\\"}', "object", ({"a": "x"}, True)),
        ('[{\\"a\\": 1}]', "array null", ([{"a": 1}], True)),
        ('{\\"a\\": 1}', "object string", ('{\\"a\\": 1}', False)),
        ('{\\"a\\": 1}', "array", ('{\\"a\\": 1}', False)),
        ('say \\"a\\"', "object", ('say \\"a\\"', False)),
    ],
)
def test_repairs(text: str, types: str, expected: tuple[Any, bool]) -> None:
    """Objects and arrays that are almost JSON are read and marked, unless they may be text."""
    assert read_typed(text, frozenset(types.split())) == expected


@pytest.mark.parametrize("types", ["array", "json", "string array", "object array"])
@pytest.mark.parametrize("deep", [JSON_DEPTH + 1, 900, 5_000])
@pytest.mark.parametrize("form", ["%s", "[%s,]", "['a', %s]"])
def test_a_value_that_is_nested_too_deep_is_text(types: str, deep: int, form: str) -> None:
    """Whatever room the caller leaves a decoder."""
    text = form % ("[" * deep + "]" * deep)
    assert read_typed(text, frozenset(types.split())) == (text, False)


def test_a_value_that_is_nested_as_deep_as_it_may_be_is_read() -> None:
    """And so is one with many brackets side by side."""
    for text in ("[" * JSON_DEPTH + "]" * JSON_DEPTH, "[" + "[[]]," * JSON_DEPTH + "{}]", '["' + "[" * 200 + '"]'):
        value, repaired = read_typed(text, frozenset({"array"}))
        assert isinstance(value, list)
        assert not repaired


# Arguments with bare keys and strings between markers.

SCHEMA = {
    "properties": {
        "s": {"type": "string"},
        "i": {"type": "integer"},
        "o": {"type": "object", "properties": {"i": {"type": "integer"}}},
    }
}
TYPED = Syntax(quote="'", typed=True, loose=False)
MARKED = Syntax(quote="'", typed=False, loose=False)
LOOSE = Syntax(quote="'", typed=False, loose=True)
JSON = frozenset({"json"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("s:'a,b}',i:7", {"s": "a,b}", "i": 7}),
        (" s : x y , i : 7 ", {"s": "x y", "i": 7}),
        ("'a b':1", {"a b": 1}),
        ("o:{i:7,z:[1,'x',{}]}", {"o": {"i": 7, "z": [1, "x", {}]}}),
        ("s:7,z:true", {"s": "7", "z": True}),
    ],
)
def test_values(text: str, expected: dict[str, Any]) -> None:
    """Bare ones by the schema, else by their look."""
    assert read_arguments(text, MARKED, Shape(SCHEMA, SCHEMA), JSON) == (expected, False)


@pytest.mark.parametrize(
    ("text", "expected", "repaired"),
    [
        ("\"s\":'x'", {"s": "x"}, True),
        ('s : "x \\u00e9"', {"s": "x é"}, True),
        ('o:{"i":"7","z":["x"]}', {"o": {"i": "7", "z": ["x"]}}, True),
        ('s:"x" y', {"s": '"x" y'}, False),
        ("s:'\"x\"'", {"s": '"x"'}, False),
        ('z:"7"', {"z": "7"}, False),
    ],
)
def test_json_s_quotes_in_place_of_marks(text: str, expected: dict[str, Any], repaired: bool) -> None:
    """A key or a value that is a whole JSON string is its text; what stands between marks is as it stands."""
    assert read_arguments(text, MARKED, Shape(SCHEMA, SCHEMA), JSON) == (expected, repaired)


@pytest.mark.parametrize(("syntax", "value"), [(TYPED, 7), (MARKED, "7")])
def test_whether_a_quoted_value_is_text(syntax: Syntax, value: Any) -> None:
    """In one syntax the marks only delimit, in the other they make a string."""
    assert read_arguments("i:'7'", syntax, Shape(SCHEMA, SCHEMA), JSON)[0] == {"i": value}


@pytest.mark.parametrize(("untyped", "value"), [(JSON, 7), (frozenset[str](), "7")])
def test_what_no_schema_describes(untyped: frozenset[str], value: Any) -> None:
    """It has the types that are given, but inside of a described value always its look."""
    assert read_arguments("z:7,l:[7],o:{z:7}", MARKED, Shape(SCHEMA, SCHEMA), untyped)[0] == {
        "z": value,
        "l": [value],
        "o": {"z": 7},
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:'x'b:'y'", {"a": "x", "b": "y"}),
        ("a:'x' b : 1", {"a": "x", "b": 1}),
        ("a:'x''b':'y'", {"a": "x", "b": "y"}),
        ("a:{b:'x'c:2}", {"a": {"b": "x", "c": 2}}),
    ],
)
def test_a_comma_may_be_missing_behind_a_string(text: str, expected: dict[str, Any]) -> None:
    """Where the syntax is loose; the key that follows tells."""
    assert read_arguments(text, LOOSE, NO_SHAPE, JSON)[0] == expected
    with pytest.raises(ValueError, match="no comma"):
        read_arguments(text, MARKED, NO_SHAPE, JSON)


@pytest.mark.parametrize(
    "text", ["a:'x''y'", "a:'x':'y'", "a:'x' y", "a:[1]b:2", "a:['x''y']", "a:['x'y:1]", "a:{'k':1}b:2"]
)
def test_what_follows_without_a_comma_must_be_a_key(text: str) -> None:
    """Otherwise it is not the grammar."""
    with pytest.raises(ValueError, match=r"no comma|a key"):
        read_arguments(text, LOOSE, NO_SHAPE, JSON)


@pytest.mark.parametrize("text", ["a", "a:'x", "a:1 b:'x'", "a:{b}", ":'x' y", "a'b:1"])
def test_what_is_not_in_the_grammar_is_refused(text: str) -> None:
    """Keys without values, strings without ends, values without commas."""
    with pytest.raises(ValueError, match=r"."):
        read_arguments(text, MARKED, NO_SHAPE, JSON)
