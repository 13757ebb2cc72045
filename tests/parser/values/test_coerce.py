"""The ladder from text to a value of a type that the schema allows: one row a rule."""

from typing import Any

import pytest

from tokenmill.limits import JSON_DEPTH
from tokenmill.parser.values.coerce import coerce, is_text, read_typed


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
