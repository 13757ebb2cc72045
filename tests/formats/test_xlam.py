"""What xlam has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import ToolCall


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("", ""), ("```json\n", "\n```"), ("```\n", "\n```"), ("[TOOL_CALLS]", ""), ("<tool_call>", "</tool_call>")],
)
def test_wrappings(opening: str, closing: str) -> None:
    """A list in any of them is one of calls, and nothing of it is left as text."""
    events = parse(grammar("xlam"), [f'{opening}[{{"name": "f", "arguments": {{}}}}]{closing}'])
    assert [call.name for call in named(events, ToolCall)] == ["f"]
    assert text_of(events) == ""
