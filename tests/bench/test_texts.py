"""What the benchmarks parse."""

import pytest

from tokenmill import Parser
from tokenmill.bench.texts import CALLS, TOOLS, call_text, chunks_of, plain_text
from tokenmill.events import Error, ToolCall
from tokenmill.formats import FORMATS


def test_chunks_put_together_are_the_text() -> None:
    """Four characters each, the last may be shorter."""
    assert chunks_of("abcdefghi") == ["abcd", "efgh", "i"]


@pytest.mark.parametrize("chars", [1, 50, 1000])
def test_plain_text_has_the_length_and_no_marker(chars: int) -> None:
    """It is prose."""
    assert len(plain_text(chars)) == chars
    assert "<" not in plain_text(chars)


@pytest.mark.parametrize("format_name", CALLS)
@pytest.mark.parametrize("chars", [1, 53, 1000])
def test_a_call_of_any_length_is_one_clean_call(format_name: str, chars: int) -> None:
    """It is valid in its format wherever the content is cut off."""
    parser = Parser(format_name, tools=TOOLS)
    events = parser.feed(call_text(format_name, chars)) + parser.finish()
    assert [event.repaired for event in events if isinstance(event, ToolCall)] == [False]
    assert not [event for event in events if isinstance(event, Error)]


def test_every_way_to_write_a_body_is_measured() -> None:
    """A format with another kind of body needs a row; those that share one are measured by it."""
    bodies = {type(call.body) for format_ in FORMATS for section in format_.sections for call in section.calls}
    measured = {
        type(call.body)
        for format_ in FORMATS
        if format_.name in CALLS
        for section in format_.sections
        for call in section.calls
    }
    assert measured == bodies
