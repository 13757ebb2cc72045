"""What is known of tools: names, types of parameters, whether arguments fit."""

from typing import Any

import pytest

from tokenmill.parser.run.tools import MESSAGE_CHARS, SCHEMA_NODES, Tool, read_tools, schema_nodes, value_nodes

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


def branching(depth: int) -> dict[str, Any]:
    """A schema that doubles with every definition."""
    both = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(depth)}
    return {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": both | {f"d{depth}": {"type": "string"}}}


TREE = {
    "properties": {"a": {"$ref": "#/$defs/T"}},
    "$defs": {"T": {"anyOf": [{"type": "integer"}, {"properties": {"l": {"$ref": "#/$defs/T"}}}]}},
}


def test_nodes() -> None:
    """Parts are counted with their references followed, and a circle is more than the bound."""
    assert schema_nodes({"type": "object"}) == 2
    assert schema_nodes(branching(3)) > schema_nodes(branching(2)) + 10
    assert schema_nodes(branching(30)) > SCHEMA_NODES
    assert schema_nodes(TREE) > SCHEMA_NODES
    assert schema_nodes({"$ref": "#/nowhere"}) == 3
    assert value_nodes({"a": [1, {"b": 2}]}) == 5


@pytest.mark.parametrize("schema", [branching(30), TREE, {"$ref": "#"}])
@pytest.mark.timeout(5)
def test_schemas_that_cost_too_much_check_nothing(schema: dict[str, Any]) -> None:
    """Branching references and circles end at once, whatever the arguments."""
    nested: Any = 5
    for _ in range(100):
        nested = {"l": nested}
    assert Tool("f", schema).mismatch({"a": nested}, 1000) is None


@pytest.mark.timeout(5)
def test_large_arguments_against_a_large_schema_are_not_checked() -> None:
    """A long list of values against a long list of alternatives is more than the bound."""
    schema = {"properties": {"a": {"items": {"enum": [{"n": n} for n in range(2_000)]}}}}
    assert Tool("f", schema).mismatch({"a": [{"n": -1}]}, 20) is not None
    assert Tool("f", schema).mismatch({"a": [{"n": -1}] * 4_000}, 100_000) is None
