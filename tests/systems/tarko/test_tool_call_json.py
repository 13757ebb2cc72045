"""What tool_call_json has of its own; its cases are run by the conformance suite."""

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ToolCall, ToolInputDelta
from tokenmill.parser import MessageParser

CALL = '<tool_call>{"name": "f", "parameters": {"a": 1}}'


@pytest.mark.parametrize("between", ["", " ", "\n\n  "])
def test_white_space_may_stand_before_the_close(between: str) -> None:
    """And nothing else."""
    text = f"{CALL}{between}</tool_call>!"
    whole = merged(parse(grammar("tool_call_json"), [text]))
    assert [call.arguments for call in named(whole, ToolCall)] == [{"a": 1}]
    for chunks in all_cuts(text):
        assert merged(parse(grammar("tool_call_json"), chunks)) == whole


def test_the_call_comes_with_the_last_character_of_the_close() -> None:
    """Not with the object's own bracket."""
    parser = MessageParser.of(grammar("tool_call_json"), "identity")
    assert named(parser.feed(f"{CALL}</tool_call"), ToolCall) == []
    assert len(named(parser.feed(">"), ToolCall)) == 1


@pytest.mark.parametrize("rest", ["", "\n", "</tool", "\n</tool_call"])
def test_without_the_close_it_is_unfinished(rest: str) -> None:
    """However much of the close has come."""
    for chunks in ([CALL + rest], list(CALL + rest)):
        events = parse(grammar("tool_call_json"), chunks, "length")
        assert codes_of(events) == ["unfinished-call"]
        assert text_of(events) == CALL + rest
        assert named(events, ToolCall) == []


@pytest.mark.parametrize("rest", ["x</tool_call>", "}</tool_call>", "</tool_calls>", "<tool_call>"])
def test_anything_else_breaks_it(rest: str) -> None:
    """It comes out as text, each character once."""
    events = parse(grammar("tool_call_json"), [CALL + rest + "."])
    assert codes_of(events)[0] == "malformed-call"
    assert text_of(events) == CALL + rest + "."


def test_only_the_parameters_are_streamed() -> None:
    """Without the braces of the call, white space kept; the name is known before them."""
    text = '<tool_call>\n{"name": "f",\n "parameters": {\n  "a": "x}y", "b": 2 }\n}\n</tool_call>'
    events = parse(grammar("tool_call_json"), list(text))
    assert "".join(event.delta for event in named(events, ToolInputDelta)) == '{\n  "a": "x}y", "b": 2 }'
    assert named(events, ToolCall)[0].arguments == {"a": "x}y", "b": 2}
