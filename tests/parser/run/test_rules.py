"""What a message's options say while it is parsed, and what is known of its tools."""

from typing import Any

import pytest

from tests.support.parsing import grammar
from tokenmill.formats import compile_grammar
from tokenmill.parser import Options
from tokenmill.parser.run.rules import Tool, read_tools
from tokenmill.parser.values.conform import MESSAGE_CHARS

TOOL = {"function": {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}}


def test_known_tools() -> None:
    """Without a list any name is known but none is declared."""
    assert (grammar().knows("f"), grammar().declares("f")) == (True, False)
    listed = grammar(tools=[TOOL])
    assert (listed.knows("f"), listed.declares("f"), listed.knows("g")) == (True, True, False)


def test_types_and_mismatches() -> None:
    """What the schema says, and nothing where there is none."""
    listed = grammar(tools=[TOOL])
    types = [listed.types(name, parameter) for name, parameter in (("f", "a"), ("f", "b"), ("g", "a"))]
    assert types == [frozenset({"integer"}), frozenset(), frozenset()]
    assert listed.mismatch("f", {"a": "x"}, 10) is not None
    assert listed.mismatch("g", {"a": "x"}, 10) is None


@pytest.mark.parametrize(
    ("asked", "wanted"), [([], False), (["f.a"], True), (["g.a"], False), (["*"], True), (["f.b", "f.a"], True)]
)
def test_wanted_arguments(asked: list[str], wanted: bool) -> None:  # a parameter of the table
    """Arguments are asked for by tool and name, or all at once."""
    assert grammar(content_arguments=asked).wants("f", "a") is wanted


def test_what_the_schema_says_of_arguments() -> None:
    """Names, required ones, values written as strings; nothing of a tool that is not known."""
    schema = {"properties": {"i": {"type": "integer"}, "s": {"type": ["string", "integer"]}}, "required": ["i"]}
    compiled = compile_grammar(Options(tools=[{"function": {"name": "f", "parameters": schema}}]))
    assert compiled.parameters("f") == {"i", "s"}
    assert compiled.required("f") == {"i"}
    assert compiled.coerced("f", {"i": "7", "s": "7", "z": "7"}) == ({"i": 7, "s": "7", "z": "7"}, True)
    assert compiled.coerced("f", {"i": "x"}) == ({"i": "x"}, False)
    assert not compiled.parameters("g")
    assert not compiled.required("g")
    assert compiled.coerced("g", {"i": "7"}) == ({"i": "7"}, False)


def test_which_parameters_a_tool_takes() -> None:
    """Those that its schema has, by name or otherwise; all of a tool of which nothing is known, or that names none."""
    schema = {"properties": {"a": {}, "no": False}, "patternProperties": {"^x": {}}}
    tools = [{"function": {"name": name, "parameters": said}} for name, said in (("f", schema), ("any", {}))]
    listed = grammar(tools=tools)
    assert [listed.takes("f", parameter) for parameter in ("a", "no", "x1", "b")] == [True, True, True, False]
    assert listed.takes("any", "b")
    assert listed.takes("g", "b")


# The tools: names, types of parameters, whether arguments fit.

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
        ({"properties": {"k": {"type": "integer"}}}, {"object"}),
        ({"$ref": "#/$defs/list"}, {"array"}),
        ({"type": ["string", "null"], "items": {}}, {"string", "null"}),
        ({"anyOf": "nonsense"}, set()),
        ({}, set()),
        ("nonsense", set()),
    ],
)
def test_types_of_a_parameter(schema: Any, expected: set[str]) -> None:
    """Every type that a schema allows, wherever it says so; without any, its keywords tell."""
    assert Tool("f", {"properties": {"a": schema}, "$defs": {"list": {"items": {}}}}).types("a") == expected


COMBINED = {
    "allOf": [{"properties": {"a": {"type": "integer"}}}, {"$ref": "#/$defs/S"}],
    "anyOf": [{"properties": {"c": {"type": "integer"}}}, {"properties": {"c": {"type": "null"}, "d": {}}}],
    "oneOf": "nonsense",
    "properties": {"e": {"$ref": "#/anyOf/0/properties/c"}, "f": {"$ref": "#/%24defs/N%20M"}},
    "patternProperties": {"^x": {"type": "boolean"}},
    "additionalProperties": {"type": "number"},
    "$defs": {"S": {"properties": {"b": {"type": "array"}}}, "N M": {"type": "integer"}},
}


def test_parameters_wherever_the_schema_says_them() -> None:
    """In what it combines and refers to, by pattern, and for all others."""
    tool = Tool("f", COMBINED)
    assert tool.parameters == set("abcdef")
    assert {name: set(tool.types(name)) for name in ("a", "b", "c", "d", "e", "f", "x1", "z")} == {
        "a": {"integer"},
        "b": {"array"},
        "c": {"integer", "null"},
        "d": set(),
        "e": {"integer"},
        "f": {"integer"},
        "x1": {"boolean"},
        "z": {"number"},
    }


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
