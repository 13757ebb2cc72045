"""What mimo has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ArgumentDelta, ToolCall
from tokenmill.formats.mimo import MIMO


def test_values_are_verbatim() -> None:
    """White space at the sides of a value is its own, as it grows and in the end."""
    text = "<tool_call><function=f><parameter=a>\n x \n</parameter></function></tool_call>"
    events = parse(grammar("mimo", content_arguments=["*"]), list(text))
    assert "".join(event.delta for event in named(events, ArgumentDelta)) == "\n x \n"
    assert named(events, ToolCall)[0].arguments == {"a": "\n x \n"}


def test_a_call_ends_the_reasoning() -> None:
    """These models call without closing their reasoning."""
    assert MIMO.calls_in_reasoning == "honour"
