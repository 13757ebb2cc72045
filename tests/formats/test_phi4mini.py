"""What phi4mini has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import ToolCall


def test_a_list_in_the_arguments_does_not_end_the_call() -> None:
    """Only the bracket of the list of calls does."""
    events = parse(grammar("phi4mini"), ['functools[{"name": "f", "arguments": {"a": [[1], 2]}}]x'])
    assert [call.arguments for call in named(events, ToolCall)] == [{"a": [[1], 2]}]
    assert text_of(events) == "x"
