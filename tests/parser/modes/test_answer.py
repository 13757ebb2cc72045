"""An answer that is one JSON object; more of it is in the cases of `structured_output`."""

from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, source_of, text_of, traced
from tokenmill.events import TextDelta, ToolCall, ToolInputDelta
from tokenmill.formats import compile_grammar
from tokenmill.limits import Limits
from tokenmill.parser import Grammar, MessageParser, Options


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
