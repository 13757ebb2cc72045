"""What bare_json has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import TextStart, ToolCall


def test_white_space_between_calls_is_text() -> None:
    """Each call stands alone; a line break between two is a block of text."""
    call = '{"tool": "f", "params": {}}'
    events = parse(grammar("bare_json"), [f"{call}\n{call} \n"])
    assert len(named(events, ToolCall)) == 2
    assert len(named(events, TextStart)) == 2
    assert text_of(events) == "\n \n"
