"""What autobyteus_json has of its own; its cases are run by the conformance suite."""

from typing import Any

import pytest

from tests.support.parsing import grammar, named
from tokenmill.errors import BadOpen
from tokenmill.events import TextDelta, ToolInputDelta
from tokenmill.parser import Parser


def test_a_name_that_comes_first_is_not_waited_for() -> None:
    """The source of a long call comes as it is written."""
    parser = Parser.of(grammar("autobyteus_json"), "identity")
    chunks = ('{"tool": {"function": "f"', ', "parameters": {"s": "', "abc", '"}}}')
    sent = [[event.delta for event in named(parser.feed(chunk), ToolInputDelta)] for chunk in chunks]
    assert sent == [[], ['{"tool": {"function": "f", "parameters": {"s": "'], ["abc"], ['"}}}']]


def test_brackets_of_prose_are_not_held() -> None:
    """A bracket waits for as long as a pattern can still follow."""
    parser = Parser.of(grammar("autobyteus_json"), "identity")
    assert [
        [event.delta for event in named(parser.feed(text), TextDelta)] for text in ("a [", "1", "] {", '"t', "i")
    ] == [
        ["a "],
        ["[1"],
        ["] "],
        [],
        ['{"ti'],
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"json_profile": "nonsense"}, "unknown 'nonsense'; known are default, openai, gemini"),
        ({"json_patterns": ['{"tool"', "tool"]}, "'tool' does not begin with one of { \\["),
    ],
)
def test_options_that_say_nothing(options: dict[str, Any], problem: str) -> None:
    """They are refused, with what there is instead."""
    with pytest.raises(BadOpen, match=problem):
        grammar("autobyteus_json", **options)
