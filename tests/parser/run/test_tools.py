"""What is known of tools: names, types of parameters, whether arguments fit."""

from typing import Any

import pytest

from tokenmill.parser.run.tools import MESSAGE_CHARS, SCHEMA_NODES, Tool, read_tools, schema_nodes, value_nodes
from tokenmill.parser.values.checked import nulls_allowed

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
    assert schema_nodes({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}}) == 7
    assert schema_nodes({"allOf": [{}], "unevaluatedItems": False}) == 8
    assert value_nodes({"a": [1, {"b": 2}]}) == 5


def twice(reference: str, **around: Any) -> dict[str, Any]:
    """A schema of which each object holds two of the same: the library follows the reference."""
    return {"type": "object", "properties": {"l": {"anyOf": [{"$ref": reference}] * 2}}, "required": ["l"], **around}


def asked(depth: int, keyword: str = "allOf", **beside: Any) -> dict[str, Any]:
    """A schema in a schema in a schema, each of which asks what the inner one has seen."""
    schema: dict[str, Any] = {"properties": {"l": {}}}
    for _ in range(depth):
        schema = {keyword: schema if keyword == "if" else [schema], **(beside or {"unevaluatedProperties": False})}
    return schema


OTHER = {**twice("#/$defs/A"), "$id": "http://127.0.0.1/x", "$defs": {"A": twice("#/$defs/A")}}
COSTLY: dict[str, dict[str, Any]] = {
    "branches": branching(30),
    "tree": TREE,
    "circle": {"$ref": "#"},
    "place in a list": {"anyOf": [twice("#/anyOf/0")]},
    "escapes": {"$ref": "#/%24defs/A", "$defs": {"A": twice("#/%24defs/A")}},
    "anchor": twice("#x", **{"$anchor": "x"}),
    "address": twice("http://127.0.0.1/x", **{"$id": "http://127.0.0.1/x"}),
    "relative address": twice(""),
    "dynamic": {
        "$dynamicAnchor": "x",
        "type": "object",
        "properties": {"l": {"anyOf": [{"$dynamicRef": "#x"}] * 2}},
        "required": ["l"],
    },
    "recursive": {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$recursiveAnchor": True,
        "type": "object",
        "properties": {"l": {"anyOf": [{"$recursiveRef": "#"}] * 2}},
        "required": ["l"],
    },
    "a root in the root": {"properties": {"l": OTHER}, "$defs": {"A": {}}},
    "a root of an old draft": {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {
            "l": {"id": "http://127.0.0.1/x", **twice("#/definitions/A", definitions={"A": twice("#/definitions/A")})}
        },
        "definitions": {"A": {}},
    },
    "moved for a null": {"nullable": True, "allOf": [{}], "anyOf": [{}], **twice("#/anyOf/0")},
    "unevaluated": asked(24),
    "unevaluated items": asked(24, unevaluatedItems=False, unevaluatedProperties=False),
    "unevaluated behind a condition": asked(24, "if"),
    "unevaluated with a schema": asked(24, unevaluatedProperties={"type": "integer"}),
}


@pytest.mark.parametrize("name", COSTLY)
@pytest.mark.timeout(5)
def test_schemas_that_cost_too_much_check_nothing(name: str) -> None:
    """Branching references and circles end at once, whatever the arguments; so does what is asked again and again."""
    nested: Any = 5
    for _ in range(100):
        nested = {"l": nested}
    assert schema_nodes(nulls_allowed(COSTLY[name])) > SCHEMA_NODES
    for arguments in ({"a": nested}, nested):
        assert Tool("f", COSTLY[name]).mismatch(arguments, 1000) is None


def test_a_schema_with_references_that_end_is_checked() -> None:
    """Whatever they are written like; so is one with a name of its own."""
    inner = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    schema = {
        "$id": "http://127.0.0.1/x",
        "properties": {"a": inner, "b": {"$ref": "#/properties/a/anyOf/0"}, "c": {"$ref": "#/%24defs/A%20B"}},
        "$defs": {"A B": {"type": "integer"}},
        "unevaluatedProperties": False,
    }
    assert Tool("f", schema).mismatch({"a": None, "b": 1, "c": 1}, 10) is None
    assert all(Tool("f", schema).mismatch({key: "x"}, 10) for key in "abc")


@pytest.mark.timeout(5)
def test_patterns_are_matched_in_linear_time() -> None:
    """One that the engine refuses checks nothing; the others, and all else, are checked."""
    schema = {
        "properties": {
            "a": {"type": "string", "pattern": "^(a*)*\\1b$"},
            "b": {"type": "string", "pattern": "^x+$"},
            "c": {"type": "string", "pattern": "^(x+x+)+y$"},
        },
        "patternProperties": {"^(?!y)": {"type": "integer"}},
        "additionalProperties": False,
    }
    tool = Tool("f", schema)
    assert tool.mismatch({"a": "a" * 1000, "b": "x"}, 10) is None
    assert tool.mismatch({"z": 1}, 10) is None
    for wrong in ({"a": 1}, {"b": "y"}, {"c": "x" * 10_000}):
        assert tool.mismatch(wrong, 10) is not None


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


@pytest.mark.timeout(5)
def test_large_arguments_against_a_large_schema_are_not_checked() -> None:
    """A long list of values against a long list of alternatives is more than the bound."""
    schema = {"properties": {"a": {"items": {"enum": [{"n": n} for n in range(2_000)]}}}}
    assert Tool("f", schema).mismatch({"a": [{"n": -1}]}, 20) is not None
    assert Tool("f", schema).mismatch({"a": [{"n": -1}] * 4_000}, 100_000) is None
