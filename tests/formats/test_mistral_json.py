"""What mistral_json has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall


@pytest.mark.parametrize(
    "call", ['{"name": "f", "arguments": {}, "id": "a1B2c3D4e"}', '{"id": "a1B2c3D4e", "name": "f", "arguments": {}}']
)
def test_the_models_own_id(call: str) -> None:
    """It is the call's, wherever it stands."""
    events = parse(grammar("mistral_json"), [f"[TOOL_CALLS][{call}]"])
    assert [call.id for call in named(events, ToolCall)] == ["a1B2c3D4e"]
