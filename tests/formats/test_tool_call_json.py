"""What tool_call_json has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall, ToolInputDelta


def test_only_the_parameters_are_streamed() -> None:
    """Without the braces of the call, white space kept; the name is known before them."""
    text = '<tool_call>\n{"name": "f",\n "parameters": {\n  "a": "x}y", "b": 2 }\n}\n</tool_call>'
    events = parse(grammar("tool_call_json"), list(text))
    assert "".join(event.delta for event in named(events, ToolInputDelta)) == '{\n  "a": "x}y", "b": 2 }'
    assert named(events, ToolCall)[0].arguments == {"a": "x}y", "b": 2}
