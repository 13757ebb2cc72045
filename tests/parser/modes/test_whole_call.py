"""An answer that is one call."""

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of, traced
from tokenmill.events import Error, Finish, ReasoningDelta, ToolCall, ToolInputStart
from tokenmill.limits import RAW_CHARS, Limits
from tokenmill.parser import MessageParser
from tokenmill.parser.run.run import Span

ANSWER = '{"name": "f", "arguments": {"a": "x"}}'
TOOL = {"function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}


@pytest.mark.parametrize("answer", [ANSWER, "I'd rather not.", '{"name": "f", "arguments": 5}', " "])
def test_cuts_change_nothing(answer: str) -> None:
    """The answer is read when it ends."""
    compiled = grammar("tool_choice", tools=[TOOL])
    whole = merged(parse(compiled, [answer]))
    assert all(merged(parse(compiled, chunks)) == whole for chunks in all_cuts(answer))


def test_a_call_that_is_none_is_never_clean() -> None:
    """Nobody may execute what the model did not say; with and without a list of tools."""
    for tools in ([TOOL], []):
        for answer in (
            *("", "no", "[]", '{"name": "f", "arguments": null}'),
            *('{"name": "f", "parameters": {"a": "x"}}', '{"a": "x"}', '{"name": "f", "params": {"a": "x"}}'),
            *(['{"name": "f", "a": "x"}'] if tools else []),
        ):
            events = parse(grammar("tool_choice", tools=tools), [answer] if answer else [])
            (call,) = named(events, ToolCall)
            assert call.arguments == {}
            assert isinstance(call.problem, str)
            assert codes_of(events)[0] == "malformed-call"
            assert named(events, Finish)[0].reason == "tool-calls"


def test_the_error_quotes_the_answer() -> None:
    """As much of it as errors quote; it has no id, for the call of that id follows."""
    error = named(parse(grammar("tool_choice"), ["no " * RAW_CHARS]), Error)[0]
    assert error.raw == ("no " * RAW_CHARS)[:RAW_CHARS]
    assert not isinstance(error.id, str)


def test_the_source_is_that_of_the_call() -> None:
    """Nothing of it is visible text."""
    events = parse(traced("tool_choice"), [" " + ANSWER])
    assert [span.source for span in events if isinstance(span, Span)] == [" " + ANSWER]
    assert text_of(events) == ""


def test_reasoning_beside_it_passes() -> None:
    """It comes before the call."""
    parser = MessageParser.of(grammar("tool_choice"), "i")
    events = [*parser.feed(ANSWER[:9]), *parser.reasoning("hm"), *parser.feed(ANSWER[9:]), *parser.finish()]
    kinds = [type(event) for event in events]
    assert kinds.index(ReasoningDelta) < kinds.index(ToolInputStart)


@pytest.mark.parametrize("chars", [7, len(ANSWER)])
def test_an_answer_that_is_too_long_is_text(chars: int) -> None:
    """From the cap on nothing is read, wherever the text was cut."""
    answer = ANSWER + " " * 5
    compiled = grammar("tool_choice", Limits(call_chars=chars))
    whole = merged(parse(compiled, [answer]))
    assert codes_of(whole) == ["limit"]
    assert text_of(whole) == answer
    assert all(merged(parse(compiled, chunks)) == whole for chunks in all_cuts(answer))


def test_policies_for_unknown_tools() -> None:
    """As in every format."""
    text = parse(grammar("tool_choice", tools=[TOOL], unknown_tool="text"), ['{"name": "g"}'])
    assert (text_of(text), named(text, ToolCall)) == ('{"name": "g"}', [])
    dropped = parse(grammar("tool_choice", tools=[TOOL], unknown_tool="drop"), ['{"name": "g"}'])
    assert (text_of(dropped), named(dropped, ToolCall), codes_of(dropped)) == ("", [], ["unknown-tool"])


def test_no_more_calls_than_allowed() -> None:
    """The answer is text then."""
    events = parse(grammar("tool_choice", Limits(calls=0)), [ANSWER])
    assert (codes_of(events), text_of(events)) == (["limit"], ANSWER)


@pytest.mark.parametrize("choice", [{"name": "g"}, {"type": "function", "function": {"name": "g"}}, {"toolName": "g"}])
def test_the_chosen_tool_need_not_be_named(choice: dict[str, object]) -> None:
    """In each form in which callers choose one."""
    (call,) = named(parse(grammar("tool_choice", tool_choice=choice), ['{"arguments": {"a": 1}}']), ToolCall)
    assert (call.name, call.arguments) == ("g", {"a": 1})
