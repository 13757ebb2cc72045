"""What `message-start` says of the request."""

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from tokenmill.events import DeclaredTool, Request
from tokenmill.formats import compile_grammar
from tokenmill.limits import Limits
from tokenmill.parser import read_options
from tokenmill.parser.compile.request import ALL_DESCRIBED_BYTES, DESCRIBED_BYTES, TOOLS_BYTES


def tool(name: str, schema: Any = UNSET, description: Any = UNSET) -> dict[str, Any]:
    """An entry of a tool list."""
    said = {"description": description, "parameters": schema}
    return {"function": {"name": name} | {key: value for key, value in said.items() if value is not UNSET}}


def request(limits: Limits | None = None, **options: Any) -> Request:
    """That of a message with these options."""
    start = compile_grammar(read_options(options), limits).message_start
    return start.request or Request()


def test_nothing_is_said_of_what_is_as_by_default() -> None:
    """Most messages of a parser without tools."""
    assert compile_grammar(read_options({"model": "m"})).message_start.request is UNSET


def test_options_that_dialects_ask_for() -> None:
    """Under their own names, with the room of a payload where that is another."""
    options = {"provider": "p", "id_prefix": "i", "segment_tools": {"run_bash": "sh"}, "stream_tool_input": False}
    asked = request(Limits(output_bytes=100_000), **options)
    assert asked == Request(payload_bytes=Limits(output_bytes=100_000).payload_bytes, **options)  # type: ignore[arg-type] # -- of the table


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(UNSET, DeclaredTool(others=True), id="no schema"),
        pytest.param(
            {"properties": {"b": {"type": ["integer", "null"]}, "a": {}}},
            DeclaredTool({"a": [], "b": ["integer", "null"]}),
            id="types",
        ),
        pytest.param(
            {"properties": {"a": {"type": "string"}}, "additionalProperties": True},
            DeclaredTool({"a": ["string"]}, others=True),
            id="any others",
        ),
        pytest.param(
            {"patternProperties": {".*": {"type": "integer"}}},
            DeclaredTool(),
            id="others that a pattern names",
        ),
        pytest.param({"properties": {"a": False, "b": {}}}, DeclaredTool({"b": []}), id="a name that is refused"),
        pytest.param(False, DeclaredTool(), id="no arguments at all"),
        pytest.param("nonsense", DeclaredTool(others=True), id="no schema at all"),
    ],
)
def test_tools(schema: Any, expected: DeclaredTool) -> None:
    """The types of each parameter, and whether there may be others; nothing that is not certain."""
    assert request(tools=[tool("f", schema, "What it does.")]).tools == {"f": expected}


def test_descriptions_where_they_are_asked_for() -> None:
    """A tool whose description is too large goes without."""
    schema = {"properties": {"a": {"type": "string"}}}
    tools = [tool("f", schema, "d"), tool("large", schema, "d" * DESCRIBED_BYTES), tool("odd", schema, 7)]
    plain = DeclaredTool({"a": ["string"]})
    assert request(tools=tools, describe_tools=True).tools == {
        "f": DeclaredTool({"a": ["string"]}, description="d", parameters=schema),
        "large": plain,
        "odd": DeclaredTool({"a": ["string"]}, parameters=schema),
    }


def test_many_tools_have_a_cap() -> None:
    """Above it first descriptions go, then types, then the last names."""
    schema = {"properties": {"x" * 100: {"type": "string"}}}
    some = [tool(f"f{n}", schema, "d" * 5_000) for n in range(60)]
    assert ALL_DESCRIBED_BYTES < 60 * 5_000
    assert request(tools=some, describe_tools=True).tools["f1"] == DeclaredTool({"x" * 100: ["string"]})
    more = [tool(f"f{n}", schema) for n in range(1_000)]
    assert list(request(tools=more).tools.values()) == [DeclaredTool()] * 1_000
    most = request(tools=[tool(f"f{n:09}", schema) for n in range(9_000)]).tools
    assert 0 < len(most) < 9_000
    assert len(msgspec.json.encode(most)) <= TOOLS_BYTES
