"""What minicpm5_xml has of its own; its cases are run by the conformance suite."""

from typing import Any

import pytest

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ArgumentDelta, ToolCall
from tokenmill.formats import find_format
from tokenmill.formats.minicpm5_xml import MINICPM5_XML
from tokenmill.parser import MessageParser


def test_names_of_other_servers() -> None:
    """The names under which other servers know it."""
    assert find_format("minicpm5") is MINICPM5_XML


def test_half_an_escape_waits() -> None:
    """A character is sent when it is known which it is."""
    parser = MessageParser.of(grammar("minicpm5_xml", content_arguments=["*"]), "identity")
    parser.feed('<function name="f"><param name="a">')
    deltas = [[event.delta for event in named(parser.feed(text), ArgumentDelta)] for text in ("a&", "l", "t;", "&x")]
    assert deltas == [["a"], [], ["<"], ["&x"]]


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({}, {"a": "x"}),
        ({"additionalProperties": False}, {"a": "x"}),
        ({"additionalProperties": {"type": "integer"}}, {"a": "x", "z1": 1}),
        ({"additionalProperties": True}, {"a": "x", "z1": "1"}),
        ({"patternProperties": {"^z": {"type": "string"}}}, {"a": "x", "z1": "1"}),
        ({"allOf": [{"properties": {"z1": {"type": "integer"}}}]}, {"a": "x", "z1": 1}),
    ],
)
def test_arguments_that_the_tool_has(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    """By name, by pattern or because it takes others; the rest is left out. What is sent as it grows is in the call."""
    tools = [{"function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}, **schema}}}]
    text = '<function name="f"><param name="a">x</param><param name="z1">1</param></function>'
    events = parse(grammar("minicpm5_xml", tools=tools, content_arguments=["*"]), [text])
    assert [call.arguments for call in named(events, ToolCall)] == [arguments]
    assert {event.argument for event in named(events, ArgumentDelta)} == {
        k for k, v in arguments.items() if v in ("x", "1")
    }
