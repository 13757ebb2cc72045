"""What dots has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall
from tokenmill.formats.dots import DOTS


def test_both_bodies_in_one_section() -> None:
    """Elements and JSON may stand side by side."""
    text = '<dots_function_call><invoke name="f"></invoke>{"name": "g"}</dots_function_call>'
    assert [call.name for call in named(parse(grammar("dots"), [text]), ToolCall)] == ["f", "g"]


def test_unknown_tools_are_text() -> None:
    """What names no tool is prose about calls."""
    assert DOTS.unknown_tool == "text"
