"""Patterns as they are found in texts, and schemas made ready for the library that checks arguments."""

import time
from typing import Any

import pytest

from tokenmill.parser.run.tools import Tool
from tokenmill.parser.values.checked import (
    PATTERN_CHARS,
    checkable,
    compiled_pattern,
    matches,
    nulls_allowed,
    patterns_read,
)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^x-", "x-a", True),
        ("^x-", "ax-", False),
        ("b", "abc", True),
        (r"^\d+$", "12", True),
        (r"^(\x61+)+$", "aaa", True),
        ("^é$", "é", True),
    ],
)
def test_as_json_schema_means_it(pattern: str, text: str, found: bool) -> None:
    """Found anywhere, unless the pattern says where."""
    assert matches(pattern, text) is found


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a" * (PATTERN_CHARS + 1)])
def test_what_is_no_pattern_matches_nothing(pattern: str) -> None:
    """Nor does one that no linear engine can take, or one too long."""
    assert not matches(pattern, "aaaa")


def test_text_that_cannot_be_encoded_matches_nothing() -> None:
    """Half a surrogate pair."""
    assert not matches("a", "a\ud83d")


def test_no_pattern_takes_long() -> None:
    """Those that other engines go back and forth in take no longer than any."""
    begun = time.perf_counter()
    assert not matches("^(a+)+$", "a" * 100_000 + "!")
    assert time.perf_counter() - begun < 1


def test_a_pattern_for_keys_is_small() -> None:
    """A message may have thousands of keys, and the engine may hold each character against all of a pattern."""
    assert matches("^[a-z]{1,40}$", "xa")
    assert not matches("^[a-z]{1,100}$", "xa")


def test_patterns_that_fit_together_are_checked() -> None:
    """The smallest first, until they are too large, or take too long for the characters of the value."""
    patterns = {"a": "^a{500}$", "b": "^b{9000}$", "c": "^c{3000}$"}
    schema = {"properties": {name: {"pattern": pattern} for name, pattern in patterns.items()}}
    held = dict.fromkeys(patterns.values(), 1)

    def checked(held: dict[str, int], chars: int) -> list[str]:
        return [name for name in patterns if not checkable(schema, held, chars).is_valid({name: "x"})]

    assert checked(held, 10) == ["a", "c"]
    assert checked(held, 20_000) == ["a"]
    assert checked({**held, patterns["a"]: 20}, 20_000) == []


INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer", "nullable": True}, {"type": ["integer", "null"], "nullable": True}),
        ({"type": ["integer", "null"], "nullable": True}, {"type": ["integer", "null"], "nullable": True}),
        ({"enum": [1], "nullable": True}, {"enum": [1, None], "nullable": True}),
        ({"anyOf": [INTEGER], "nullable": True}, {"anyOf": [INTEGER, {"type": "null"}], "nullable": True}),
        ({"type": "integer", "nullable": False}, {"type": "integer", "nullable": False}),
        ({"type": "integer", "nullable": "yes"}, {"type": "integer", "nullable": "yes"}),
        (
            {"type": 5, "enum": "x", "anyOf": 7, "nullable": True},
            {"type": 5, "enum": "x", "anyOf": 7, "nullable": True},
        ),
        ({"properties": {"nullable": True}, "items": "x"}, {"properties": {"nullable": True}, "items": "x"}),
        ({"default": {"type": "integer", "nullable": True}}, {"default": {"type": "integer", "nullable": True}}),
        (
            {"nullable": True, "$ref": "#/$defs/A", "$defs": {"A": INTEGER}},
            {"$defs": {"A": INTEGER}, "anyOf": [{"nullable": True, "$ref": "#/$defs/A"}, {"type": "null"}]},
        ),
    ],
)
def test_where_a_null_is_put(schema: Any, expected: Any) -> None:
    """Beside the types or values that are listed; only a schema that lists none is put into another."""
    assert nulls_allowed(schema) == expected


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "nullable": True},
        {"type": "integer", "enum": [1, 2], "nullable": True},
        {"const": 1, "nullable": True},
        {"$ref": "#/$defs/A", "nullable": True},
        {"$ref": "#/$defs/N"},
        {"allOf": [{"$ref": "#/$defs/A"}], "nullable": True},
        {"anyOf": [INTEGER], "nullable": True},
        {"anyOf": [{"type": "integer", "nullable": True}, {"type": "array", "nullable": True}]},
        {"oneOf": [{"type": "integer", "nullable": True}, {"type": "array"}]},
        {"oneOf": [{"type": "integer", "nullable": True}, {"type": "array", "nullable": True}]},
        {"oneOf": [{"type": "integer", "nullable": True}, {"type": "array"}], "nullable": True},
    ],
)
def test_a_null_fits(schema: Any) -> None:
    """Wherever it is said; all else is judged as before, in arguments, elements and values of objects."""
    definitions = {"A": INTEGER, "N": {"type": "integer", "nullable": True}}
    for around, wrap in (
        (schema, lambda value: value),
        ({"type": "array", "items": schema}, lambda value: [value]),
        ({"type": "object", "properties": {"b": schema}}, lambda value: {"b": value}),
        ({"type": "object", "additionalProperties": schema}, lambda value: {"b": value}),
    ):
        tool = Tool("f", {"properties": {"a": around}, "$defs": definitions})
        assert tool.mismatch({"a": wrap(None)}, 10) is None
        assert tool.mismatch({"a": wrap(1)}, 10) is None
        assert tool.mismatch({"a": wrap("x")}, 10) is not None


def test_a_schema_that_is_nested_too_deep() -> None:
    """It checks nothing, as other schemas that can't be compiled."""
    schema: dict[str, Any] = {"type": "integer", "nullable": True}
    for _ in range(5000):
        schema = {"items": schema}
    assert Tool("f", {"properties": {"a": schema}}).mismatch({"a": "x"}, 10) is None


@pytest.mark.timeout(5)
def test_nullable_branches_inside_of_each_other_are_read_once() -> None:
    """Of several branches that may be null each is read with its null and without it, and not again for either."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(40):
        schema = {"oneOf": [{**schema, "nullable": True}, {"type": "string", "nullable": True}]}
    allowed = nulls_allowed(schema)
    assert allowed["oneOf"][1:] == [{"type": "string", "nullable": True}, {"type": "null"}]


LOOKS = "^(?!x).*$"
"""A pattern that no engine with linear time knows."""


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"pattern": LOOKS, "type": "string"}, {"type": "string"}),
        ({"pattern": "^a", "items": {"pattern": LOOKS}}, {"pattern": "^a", "items": {}}),
        ({"anyOf": [{"pattern": "("}, {"pattern": 7}]}, {"anyOf": [{}, {"pattern": 7}]}),
        ({"patternProperties": {LOOKS: {"a": 1}, "^a": {"b": 1}}}, {"patternProperties": {"": {}, "^a": {"b": 1}}}),
        ({"patternProperties": {LOOKS: {"a": 1}, "": {"b": 1}}}, {"patternProperties": {"": {"b": 1}}}),
        ({"patternProperties": {"^a": {}}}, {"patternProperties": {"^a": {}}}),
        ({"properties": {"pattern": {"type": "string"}}}, {"properties": {"pattern": {"type": "string"}}}),
        ({"enum": [{"pattern": LOOKS}]}, {"enum": [{"pattern": LOOKS}]}),
        (True, True),
    ],
)
def test_patterns_that_are_not_read(schema: Any, expected: Any) -> None:
    """Those that the engine refuses are gone; where they name keys, any key may be one of them."""
    assert patterns_read(schema, lambda pattern: compiled_pattern(pattern) is not None) == expected
