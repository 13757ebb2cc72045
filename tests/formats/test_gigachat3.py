"""What gigachat3 has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import ToolCall


@pytest.mark.parametrize(
    "opening", ["<|message_sep|>\n\nfunction call<|role_sep|>\n", "function call<|role_sep|>", "<|function_call|>"]
)
def test_openings(opening: str) -> None:
    """The role of 3.0, with and without the end of the message before it, and the token of 3.1."""
    events = parse(grammar("gigachat3"), [opening + '{"name": "f", "arguments": {}}</s>'])
    assert [call.name for call in named(events, ToolCall)] == ["f"]
    assert text_of(events) == ""
