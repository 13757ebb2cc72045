"""What kimi_k3 has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall


def test_only_attributes_are_escaped() -> None:
    """A name is unescaped, a value is verbatim."""
    text = (
        '<|open|>tools<|sep|><|open|>call tool="a&amp;lt;" index="1"<|sep|>'
        '<|open|>argument key="v" type="string"<|sep|>'
        "&amp;<|close|>argument<|sep|><|close|>call<|sep|>"
    )
    (call,) = named(parse(grammar("kimi_k3"), [text]), ToolCall)
    assert (call.name, call.arguments) == ("a&lt;", {"v": "&amp;"})
