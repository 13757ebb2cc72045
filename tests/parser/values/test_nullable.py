"""OpenAPI's `nullable`, as JSON Schema has it."""

from typing import Any

import pytest

from tokenmill.parser.run.rules import Tool
from tokenmill.parser.values.nullable import nulls_allowed

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


@pytest.mark.timeout(5)
def test_nullable_branches_inside_of_each_other_are_read_once() -> None:
    """Of several branches that may be null each is read with its null and without it, and not again for either."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(40):
        schema = {"oneOf": [{**schema, "nullable": True}, {"type": "string", "nullable": True}]}
    allowed = nulls_allowed(schema)
    assert allowed["oneOf"][1:] == [{"type": "string", "nullable": True}, {"type": "null"}]
