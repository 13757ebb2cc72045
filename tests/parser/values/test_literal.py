"""Values with bare keys and strings between markers."""

from typing import Any

import pytest

from tokenmill.parser.values.literal import Syntax, read_arguments
from tokenmill.parser.values.schema import NO_SHAPE, Shape

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
