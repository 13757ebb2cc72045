"""What of a value is layout."""

from typing import Any

import pytest

from tests.support.parsing import grammar
from tokenmill.parser.bodies.param_values import (
    LAYOUTS,
    STRIP_CHARS,
    XML,
    Trim,
    fitting,
    may_wrap,
    read_object,
    unwrapped,
)


@pytest.mark.parametrize(
    ("trim", "text", "whole"),
    [
        ("none", "\n x \n", "\n x \n"),
        ("line", "\n x \n", " x "),
        ("line", "\n\nx\n\n", "\nx\n"),
        ("line", "\n", ""),
        ("line", " \nx\n ", " \nx\n "),
        ("lines", "\nx\n\n", "x\n"),
        ("lines", "x\n", "x\n"),
        ("lines", "\n", ""),
        ("strip", "\n x \n\t", "x"),
        ("strip", " " * (2 * STRIP_CHARS + 1), " "),
        ("strip", "", ""),
    ],
)
def test_whole(trim: Trim, text: str, whole: str) -> None:
    """A complete value without its layout."""
    assert LAYOUTS[trim].whole(text) == whole


def test_certain() -> None:
    """What may be layout at the end is not certain; what was cut off there is never certain later either."""
    assert [LAYOUTS[trim].certain("a \n") for trim in ("none", "line", "strip")] == ["a \n", "a ", "a"]


def test_leading() -> None:
    """Layout at the beginning is counted down over chunks."""
    assert LAYOUTS["strip"].leading("  x", 1) == 1
    assert LAYOUTS["line"].leading("\n\n", 1) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a &lt;&gt;&amp;&quot;&apos;", "a <>&\"'"),
        ("&amp;lt;", "&lt;"),
        ("&lt &nbsp; & ]]>", "&lt &nbsp; & ]]>"),
        ("<![CDATA[&lt;\n]]>&lt;<![CDATA[]]>", "&lt;\n<"),
        ("<![CDATA[x", "<![CDATA[x"),
    ],
)
def test_decoding(text: str, expected: str) -> None:
    """Each character once; a raw section as it stands; what is no escape stays."""
    assert XML.decoder()(text) == expected


TOOLS = [
    {
        "function": {
            "name": "f",
            "parameters": {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", 7]},
        }
    },
    {"function": {"name": "own", "parameters": {"properties": {"arguments": {}}}}},
    {"function": {"name": "none"}},
]
GRAMMAR = grammar("plain", tools=TOOLS)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("f", {"arguments": '{"a": "x"}'}, {"a": "x"}),
        ("f", {"input": {"a": 1, "b": 2}}, {"a": 1, "b": 2}),
        ("f", {"arguments": {"z": 1}}, {"arguments": {"z": 1}}),
        ("f", {"arguments": "text"}, {"arguments": "text"}),
        ("f", {"arguments": {"a": 1}, "b": 2}, {"arguments": {"a": 1}, "b": 2}),
        ("f", {"other": {"a": 1}}, {"other": {"a": 1}}),
        ("f", {}, {}),
        ("own", {"arguments": {"arguments": 1}}, {"arguments": {"arguments": 1}}),
        ("none", {"arguments": {"a": 1}}, {"arguments": {"a": 1}}),
        ("f", {"": {"a": 1}}, {"a": 1}),
        ("none", {"": '{"z": 1}'}, {"z": 1}),
    ],
)
def test_wrappers(tool: str, arguments: dict[str, Any], expected: dict[str, Any]) -> None:
    """A parameter that the tool does not have, alone and with what the tool has inside; and one that has no name."""
    assert unwrapped(GRAMMAR, tool, arguments) == (expected, False)


@pytest.mark.parametrize("arguments", [{"": "text"}, {"": [1]}, {"": {"a": 1}, "b": 2}, {"": "{}", "b": 2}])
def test_a_parameter_without_a_name_is_all_arguments_or_none(arguments: dict[str, Any]) -> None:
    """No tool has such a parameter."""
    with pytest.raises(ValueError, match="no name"):
        unwrapped(GRAMMAR, "f", arguments)


def test_what_may_be_a_wrapper() -> None:
    """Its text is not sent as it grows: it may not be an argument."""
    assert may_wrap(GRAMMAR, "f", "arguments")
    assert not may_wrap(GRAMMAR, "own", "arguments")
    assert not may_wrap(GRAMMAR, "f", "a")


def test_a_repaired_wrapper_is_marked() -> None:
    """What it held was no valid JSON."""
    assert unwrapped(GRAMMAR, "f", {"arguments": '{"a": "x\n"}'}) == ({"a": "x\n"}, True)


@pytest.mark.parametrize(("text", "expected"), [("", {}), (" \n", {}), ("words", {}), (' {"a": 1} ', {"a": 1})])
def test_json_in_place_of_parameters(text: str, expected: dict[str, Any]) -> None:
    """One object is the arguments; anything else is none."""
    assert read_object(text) == (expected, False)


def test_json_that_can_not_be_read() -> None:
    """What begins like an object must be one."""
    with pytest.raises(ValueError, match=r"unexpected|Expecting|end|JSON"):
        read_object("{")


def test_a_call_that_must_fit() -> None:
    """Unknown parameters go; a missing or repeated one is an error."""
    assert fitting(GRAMMAR, "f", {"a": "x", "z": 1}) == {"a": "x"}
    assert fitting(GRAMMAR, "none", {"z": 1}) == {"z": 1}
    with pytest.raises(ValueError, match="missing: a"):
        fitting(GRAMMAR, "f", {"b": 1})
    with pytest.raises(ValueError, match="repeated"):
        fitting(GRAMMAR, "f", {"a": 1}, 1)
