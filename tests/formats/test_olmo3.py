"""What olmo3 has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall


def test_a_call_is_complete_at_its_bracket() -> None:
    """Nothing waits for the next line or the closing tag."""
    events = parse(grammar("olmo3"), ["<function_calls>f(a=1)\ng(a='x')"])
    assert [call.name for call in named(events, ToolCall)] == ["f", "g"]
