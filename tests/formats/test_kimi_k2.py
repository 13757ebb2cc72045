"""What kimi_k2 has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall


@pytest.mark.parametrize("header", ["functions.f:0", "f:12", "functions.a.b-c:3"])
def test_the_header_is_the_id(header: str) -> None:
    """The id must be echoed as the model wrote it."""
    text = f"<|tool_call_begin|>{header}\n<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
    assert [call.id for call in named(parse(grammar("kimi_k2"), [text]), ToolCall)] == [header]
