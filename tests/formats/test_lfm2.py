"""What lfm2 has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall


@pytest.mark.parametrize(
    ("arguments", "repaired"),
    [("a='x', b=7", False), ("a='say 'x' now'", True), ("a='x\ny'", True), ("b=07", True), ("a=['it's']", True)],
)
def test_what_is_not_quite_python_is_marked(arguments: str, repaired: bool) -> None:
    """Values that were read as they were meant say so."""
    (call,) = named(parse(grammar("lfm2"), [f"<|tool_call_start|>[f({arguments})]<|tool_call_end|>"]), ToolCall)
    assert call.repaired is repaired
