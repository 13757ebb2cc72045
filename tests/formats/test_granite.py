"""What granite has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import ToolCall


@pytest.mark.parametrize("opening", ["<|tool_call|>", "<|tool_call|> ", "<tool_call>"])
def test_openings(opening: str) -> None:
    """The token of 3.0 and the plain text of 3.1; the list's bracket ends it."""
    events = parse(grammar("granite"), [opening + '[{"name": "f", "arguments": {"a": [1]}}] text'])
    assert [call.arguments for call in named(events, ToolCall)] == [{"a": [1]}]
    assert text_of(events) == " text"
