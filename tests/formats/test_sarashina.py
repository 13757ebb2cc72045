"""What sarashina has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall


def test_a_call_in_python_is_one_with_its_own_id() -> None:
    """It is no JSON, and is marked as read in another way."""
    text = "<|tool_calls|>[{'id': 'c7', 'name': 'f', 'arguments': {'a': None}}]"
    (call,) = named(parse(grammar("sarashina"), [text]), ToolCall)
    assert (call.id, call.arguments, call.repaired) == ("c7", {"a": None}, True)
