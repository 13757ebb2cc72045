"""What step3 has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import ToolInputDelta
from tokenmill.formats.step3 import STEP3


def test_tokens_around_a_call_are_framing() -> None:
    """They come out neither as text nor in the source of the arguments."""
    events = parse(grammar("step3"), [STEP3.sample])
    assert text_of(events) == "I'll look it up.\n"
    assert "｜" not in "".join(event.delta for event in named(events, ToolInputDelta))
