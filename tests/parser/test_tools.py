"""What is known of tools: names, types of parameters, whether arguments fit."""

from typing import Any

import pytest

from tokenmill.parser.tools import MESSAGE_CHARS, Tool, read_tools

REFERENCES = {
    "properties": {"a": {"$ref": "#/$defs/A"}, "loop": {"$ref": "#/$defs/L"}, "far": {"$ref": "http://127.0.0.1:9/x"}},
    "$defs": {"A": {"type": ["integer", "null"]}, "L": {"$ref": "#/$defs/L"}},
}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"string"}),
        ({"type": ["string", "null"]}, {"string", "null"}),
        ({"type": "varchar"}, {"string"}),
        ({"type": ["Int32", "dict"]}, {"integer", "object"}),
        ({"type": "colour"}, set()),
        (
            {"enum": ["a", 1, None, 1.5, True, [], {}]},
            {"string", "integer", "null", "number", "boolean", "array", "object"},
        ),
        ({"type": "string", "enum": [1]}, {"string"}),
        ({"const": 3}, {"integer"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"string", "null"}),
        ({"oneOf": [{"type": "array"}], "allOf": [{"type": "object"}]}, {"array", "object"}),
        ({"anyOf": "nonsense"}, set()),
        ({}, set()),
        ("nonsense", set()),
    ],
)
def test_types_of_a_parameter(schema: Any, expected: set[str]) -> None:
    """Every type that a schema allows, wherever it says so."""
    assert Tool("f", {"properties": {"a": schema}}).types("a") == expected


def test_references() -> None:
    """References inside the schema are followed, a bounded number of times; others are not."""
    tool = Tool("f", REFERENCES)
    assert tool.types("a") == {"integer", "null"}
    assert tool.types("loop") == set()
    assert tool.types("far") == set()
    assert tool.types("missing") == set()


def test_original_schema_gives_the_types() -> None:
    """The provider's own schema decides the types where the message carries one."""
    tools = read_tools(
        [{"function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}}],
        {"f": {"properties": {"a": {"type": "integer"}}}},
    )
    assert tools["f"].types("a") == {"integer"}


def test_mismatch_says_where() -> None:
    """A mismatch is one bounded sentence with the place in front."""
    tool = Tool("f", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
    assert tool.mismatch({"a": 1}, 10) is None
    assert tool.mismatch({}, 10) == '"a" is a required property'
    long = tool.mismatch({"a": "x" * 10_000}, 10)
    assert long is not None
    assert long.startswith("a: ")
    assert len(long) == MESSAGE_CHARS


@pytest.mark.parametrize(
    "schema", [{"type": "varchar"}, {"$ref": "http://127.0.0.1:9/x"}, {"$ref": "file:///etc/passwd"}]
)
def test_a_schema_that_can_not_be_used_checks_nothing(schema: dict[str, Any]) -> None:
    """Unknown types and references to other places neither raise nor load anything."""
    assert Tool("f", schema).mismatch({"a": 1}, 10) is None


def test_values_that_the_library_can_not_read_do_not_raise() -> None:
    """Half of a surrogate pair is not checked; an integer of any size is."""
    tool = Tool("f", {"properties": {"a": {"maximum": 5}}})
    assert tool.mismatch({"a": "\ud800"}, 10) is None
    assert tool.mismatch({"a": 10**400}, 10) is not None


def test_read_tools() -> None:
    """OpenAI entries and flat ones; what has no name is no tool."""
    tools = read_tools([{"type": "function", "function": {"name": "a"}}, {"name": "b"}, {"function": 7}, {}], {})
    assert sorted(tools) == ["a", "b"]


@pytest.mark.parametrize(
    ("schema", "known"),
    [
        ({"type": "object"}, True),
        ({"properties": {"a": {}}}, True),
        ({"properties": {"b": {}}}, False),
        ({"properties": {"a": False}}, False),
        ({"patternProperties": {"^a$": {}}}, True),
        ({"jsonSchema": {"properties": {"b": {}}}}, False),
        (None, True),
    ],
)
def test_a_tool_knows_its_parameters(schema: Any, known: bool) -> None:
    """By name, by pattern, or all where it lists none; a wrapper of some libraries around its schema is none."""
    tool = read_tools([{"name": "f", "parameters": schema}], {})["f"]
    assert tool.has("a") is known


def test_a_schema_may_refuse_all_arguments() -> None:
    """An original one goes before."""
    tools = [{"name": "f", "parameters": False}]
    assert read_tools(tools, {})["f"].shape.schema is False
    assert read_tools(tools, {"f": {"type": "object"}})["f"].shape.schema == {"type": "object"}
