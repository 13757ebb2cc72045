"""What a message's options say while it is parsed, and what is known of its tools."""

import pytest

from tests.support.parsing import grammar
from tokenmill.formats import compile_grammar
from tokenmill.parser import Options

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
