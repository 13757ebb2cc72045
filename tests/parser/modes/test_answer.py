"""An answer that is one JSON object, or one call; more is in the cases of `structured_output` and `tool_choice`."""

from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, source_of, text_of, traced
from tokenmill.events import Error, Finish, ReasoningDelta, TextDelta, ToolCall, ToolInputDelta, ToolInputStart
from tokenmill.formats import compile_grammar
from tokenmill.limits import RAW_CHARS, Limits
from tokenmill.parser import Grammar, MessageParser, Options
from tokenmill.parser.run.run import Span


def at_once(*names: str, **options: Any) -> Grammar:
    """The grammar of several formats."""
    return compile_grammar(Options(format=list(names), **options))


ANSWER = '{"content": "say \\"hi\\" \\ud83d\\ude00 now", "toolCall": {"name": "f", "args": {"a": [1, {"b": "}"}]}}}'


def test_text_grows_as_it_is_written() -> None:
    """Nothing is held but half an escape, and half a pair of them."""
    parser = MessageParser.of(grammar("structured_output"), "identity")
    chunks = ('{"content": "ab', "c\\", "nd\\ud83d", "\\ude0", '0e"')
    sent = [text_of(parser.feed(chunk)) for chunk in chunks]
    assert sent == ["ab", "c", "\nd", "", "😀e"]


def test_the_arguments_grow_as_they_are_written() -> None:
    """Verbatim, and only they."""
    compiled = grammar("structured_output")
    for chunks in all_cuts(ANSWER):
        deltas = named(parse(compiled, chunks), ToolInputDelta)
        assert "".join(delta.delta for delta in deltas) == '{"a": [1, {"b": "}"}]}'


def test_every_character_is_accounted_for() -> None:
    """Keys and brackets are framing; text that reads otherwise than it is written has its source beside it."""
    for chunks in all_cuts(ANSWER):
        assert source_of(parse(traced("structured_output"), chunks)) == ANSWER


@pytest.mark.parametrize("lead", ["{", "{ ", '{"', '{"con', ' \n{"toolCall"', '{"content" '])
def test_only_the_first_key_is_waited_for(lead: str) -> None:
    """As long as it can still become one of the two."""
    parser = MessageParser.of(grammar("structured_output"), "identity")
    assert text_of(parser.feed(lead)) == ""
    assert text_of(parser.feed("!")) == lead + "!"


def test_several_formats_at_once() -> None:
    """The whole answer is an object only for the first of them; what is none is read by the others."""
    call = '<tool_call>{"name": "f", "parameters": {}}</tool_call>'
    both = at_once("structured_output", "tool_call_json")
    assert [each.name for each in named(parse(both, [f"a {call}"]), ToolCall)] == ["f"]
    assert text_of(parse(both, [f'{{"content": "{call[:11]}"}}'])) == "<tool_call>"
    other = at_once("tool_call_json", "structured_output")
    assert text_of(parse(other, ['{"content": "x"}'])) == '{"content": "x"}'


def test_long_text_is_sent_in_pieces() -> None:
    """No delta is longer than allowed, and what is behind the cap of a message is text as it stands."""
    compiled = grammar("structured_output", Limits(delta_chars=4))
    pieces = [event.delta for event in parse(compiled, ['{"content":"abcdefghij"}']) if isinstance(event, TextDelta)]
    assert pieces == ["abcd", "efgh", "ij"]
    capped = parse(grammar("structured_output", Limits(message_chars=15)), list('{"content":"abcdef"}'))
    assert (text_of(capped), codes_of(capped)) == ('abcdef"}', ["limit"])


def test_a_broken_object_is_text_from_there_on() -> None:
    """A quote that is not escaped ends the text; what follows is no JSON."""
    whole = parse(grammar("structured_output"), ['{"content": "a "b" c", "toolCall": {"name": "f"}}'])
    assert (text_of(whole), codes_of(whole)) == ('a b" c", "toolCall": {"name": "f"}}', ["malformed-call"])


def test_a_prompt_that_ends_in_reasoning_is_none_of_it() -> None:
    """Where the stream begins elsewhere by option, the format of the others counts."""
    compiled = at_once("hermes", "structured_output", start="reasoning")
    assert merged(parse(compiled, ["r</think>a"]))[-1].type == "finish"


CALL = '{"name": "f", "arguments": {"a": "x"}}'
TOOL = {"function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}


@pytest.mark.parametrize("answer", [CALL, "I'd rather not.", '{"name": "f", "arguments": 5}', " "])
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
    events = parse(traced("tool_choice"), [" " + CALL])
    assert [span.source for span in events if isinstance(span, Span)] == [" " + CALL]
    assert text_of(events) == ""


def test_reasoning_beside_it_passes() -> None:
    """It comes before the call."""
    parser = MessageParser.of(grammar("tool_choice"), "i")
    events = [*parser.feed(CALL[:9]), *parser.reasoning("hm"), *parser.feed(CALL[9:]), *parser.finish()]
    kinds = [type(event) for event in events]
    assert kinds.index(ReasoningDelta) < kinds.index(ToolInputStart)


@pytest.mark.parametrize("chars", [7, len(CALL)])
def test_an_answer_that_is_too_long_is_text(chars: int) -> None:
    """From the cap on nothing is read, wherever the text was cut."""
    answer = CALL + " " * 5
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
    events = parse(grammar("tool_choice", Limits(calls=0)), [CALL])
    assert (codes_of(events), text_of(events)) == (["limit"], CALL)


@pytest.mark.parametrize("choice", [{"name": "g"}, {"type": "function", "function": {"name": "g"}}, {"toolName": "g"}])
def test_the_chosen_tool_need_not_be_named(choice: dict[str, object]) -> None:
    """In each form in which callers choose one."""
    (call,) = named(parse(grammar("tool_choice", tool_choice=choice), ['{"arguments": {"a": 1}}']), ToolCall)
    assert (call.name, call.arguments) == ("g", {"a": 1})
