"""What command_r_action has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, parse, text_of


def test_the_fence_is_framing() -> None:
    """It goes with the list."""
    text = 'Action:\n```json\n[{"tool_name": "f", "parameters": {}}]\n```\nDone.'
    assert text_of(parse(grammar("command_r_action"), [text])) == "\nDone."
