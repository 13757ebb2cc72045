"""What comes again behind a section."""

import pytest

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import ToolCall
from tokenmill.parser.modes.repeat import BODY_CHARS

OPEN, CLOSE = "<|tool_call_start|>", "<|tool_call_end|>"


@pytest.mark.parametrize("size", [10, BODY_CHARS // 2, BODY_CHARS])
def test_a_body_that_is_too_long_is_not_looked_for(size: int) -> None:
    """It would have to be kept: behind a longer one the same again is text."""
    body = f'[f(a="{"x" * size}")]'
    events = parse(grammar("lfm2"), [f"{OPEN}{body}{CLOSE}{body}{CLOSE}"])
    assert len(named(events, ToolCall)) == 1
    assert text_of(events) == ("" if len(body) <= BODY_CHARS else body + CLOSE)


def test_the_body_of_an_earlier_section_is_not_looked_for() -> None:
    """What may come again is that of the section that ended last."""
    first, second = "[f()]", "[g()]"
    events = parse(grammar("lfm2"), [f"{OPEN}{first}{CLOSE}{OPEN}{second}{CLOSE}{first}{CLOSE}"])
    assert [call.name for call in named(events, ToolCall)] == ["f", "g"]
    assert text_of(events) == first + CLOSE


def test_a_provider_call_leaves_what_came_again_in_its_place() -> None:
    """Half a body that came again is text when the stream ends, whatever came beside it."""
    events = parse(grammar("lfm2"), [f"{OPEN}[f()]{CLOSE}[f", ""])
    assert text_of(events) == "[f"
