"""What beam has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse, reasoning_of
from tokenmill.events import ToolCall


def test_a_recipient_makes_a_call_of_a_channel_that_is_reasoning_without_one() -> None:
    """Both are called `analysis`."""
    text = (
        "<|channel|>analysis<|message|>Hm.<|end|>"
        "<|start|>assistant to=f<|channel|>analysis<|message|>"
        '<rfl:parameter name="a">\n1\n</rfl:parameter><|call|>'
    )
    events = parse(grammar("beam"), [text])
    assert reasoning_of(events) == "Hm."
    assert [call.arguments for call in named(events, ToolCall)] == [{"a": "1"}]


def test_functions_is_a_part_of_the_name() -> None:
    """Unlike in harmony, where it is the namespace of all tools."""
    text = " to=functions.f<|channel|>analysis<|message|><|call|>"
    assert [call.name for call in named(parse(grammar("beam"), [text]), ToolCall)] == ["functions.f"]
