"""What structured_output has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import ToolCall
from tokenmill.systems.tarko.structured_output import STRUCTURED_OUTPUT


def test_text_and_call_come_while_the_object_grows() -> None:
    """The call is complete before the object is."""
    events = parse(grammar("structured_output"), [STRUCTURED_OUTPUT.sample[:-1]])
    assert text_of(events) == "I'll look it up."
    assert [call.name for call in named(events, ToolCall)] == ["get_weather"]
