"""What the benchmarks parse."""

import pytest

from tokenmill import Parser
from tokenmill.bench.texts import (
    PAGES,
    RUNNING,
    TOOLS,
    call_text,
    chunks_of,
    grammars_of,
    running_text,
    sample_of,
    samples,
)
from tokenmill.events import Error, Event, ToolCall
from tokenmill.formats import FORMATS, find_format
from tokenmill.parser import Format

CALLING = [format_ for format_ in FORMATS if grammars_of(format_)]


def test_chunks_put_together_are_the_text() -> None:
    """Four characters each, the last may be shorter."""
    assert chunks_of("abcdefghi") == ["abcd", "efgh", "i"]


@pytest.mark.parametrize("line", RUNNING.values(), ids=list(RUNNING))
@pytest.mark.parametrize("chars", [1, 50, 1000])
def test_running_text_has_the_length_and_no_call(line: str, chars: int) -> None:
    """It comes out as it is."""
    text = running_text(line, chars)
    assert len(text) == chars
    events = Parser("hermes", TOOLS).feed(text)
    assert {event.type for event in events} <= {"message-start", "text-start", "text-delta"}


def parsed(format_: Format, text: str) -> list[Event]:
    """All events of an answer."""
    parser = Parser(format_, TOOLS)
    return [*parser.feed(text), *parser.finish()]


@pytest.mark.parametrize("page", PAGES.values(), ids=list(PAGES))
@pytest.mark.parametrize("format_", CALLING, ids=lambda format_: format_.name)
def test_a_sample_grows_to_any_length(format_: Format, page: str) -> None:
    """In every format the long text arrives in the argument to the character, and no fault comes with it."""
    sample = sample_of(format_)
    events, short = parsed(format_, call_text(sample, page, 500)), parsed(format_, format_.sample)
    calls = [event for event in events if isinstance(event, ToolCall)]
    assert len(calls) == sample.calls
    assert str(calls[0].arguments["city"]).count(page) >= 500 // (2 * len(page))
    assert [call.repaired for call in calls] == [event.repaired for event in short if isinstance(event, ToolCall)]
    assert not [event for event in events if isinstance(event, Error)]


def test_every_grammar_is_measured() -> None:
    """A grammar that a format has is measured by the sample of one that has no other."""
    assert samples().keys() == set().union(*map(grammars_of, FORMATS))
    for grammar, sample in samples().items():
        assert grammars_of(find_format(sample.format_name)) == {grammar}
