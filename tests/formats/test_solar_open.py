"""What solar_open has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall

_CALL = "<|tool_call:begin|>{}<|tool_call:name|>f<|tool_call:args|>{{}}<|tool_call:end|>"


def test_the_id_is_the_models_own() -> None:
    """And one that is made where the model wrote none."""
    text = f"<|tool_calls|>{_CALL.format('a1b2c3d4e5')}{_CALL.format('')}<|calls|>"
    first, second = named(parse(grammar("solar_open"), [text]), ToolCall)
    assert first.id == "a1b2c3d4e5"
    assert second.id.startswith("call_")
