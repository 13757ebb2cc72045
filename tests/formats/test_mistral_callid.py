"""What mistral_callid has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ToolCall


def test_the_id_is_the_models_own() -> None:
    """The id between name and arguments is that of the call; without one it is derived."""
    text = "[TOOL_CALLS]f[CALL_ID]a1B2c3D4e[ARGS]{}[TOOL_CALLS]f[ARGS]{}"
    ids = [call.id for call in named(parse(grammar("mistral_callid"), [text]), ToolCall)]
    assert ids[0] == "a1B2c3D4e"
    assert ids[1].startswith("call_")
