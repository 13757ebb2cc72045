"""Inside a call: headers and where they end, and the cap."""

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, reasoning_of, text_of
from tokenmill.events import ToolCall
from tokenmill.limits import NAME_CHARS, Limits
from tokenmill.parser import MessageParser
from tokenmill.parser.modes.call import HEADER_CHARS


@pytest.mark.parametrize(
    ("header", "name"),
    [("f>", "f"), (" f >", "f"), ("a.b-c_1>", "a.b-c_1"), ("f\n", "f"), ("f<parameter=a>1</parameter>", "f")],
)
def test_header(header: str, name: str) -> None:
    """A name ends at its character or in front of what can't belong to it."""
    text = f"<tool_call><function={header}</function></tool_call>"
    assert [call.name for call in named(parse(grammar("qwen3_xml"), [text]), ToolCall)] == [name]


@pytest.mark.parametrize("header", [">", "two words>", "x" * (NAME_CHARS + 1) + ">", "x" * (HEADER_CHARS + 1)])
def test_what_is_no_header(header: str) -> None:
    """No name, several words, a name without end: the text comes out as it was, at every cut."""
    text = f"a<tool_call><function={header}</function></tool_call>b"
    whole = merged(parse(grammar("qwen3_xml"), [text]))
    assert text_of(whole) == text
    assert "tool-call" not in [event.type for event in whole if not isinstance(event, tuple)]
    for chunks in list(all_cuts(text))[:50]:
        assert merged(parse(grammar("qwen3_xml"), chunks)) == whole


GLM_CALL = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>"
KIMI_CALL = '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": "1"}<|tool_call_end|>'


@pytest.mark.parametrize(
    ("format_name", "text", "reasoning", "out"),
    [
        ("glm_kv", f"<think>I use the <tool_call> format.</think>{GLM_CALL}", "I use the <tool_call> format.", ""),
        ("glm_kv", f"<think>a <tool_call>f</think>b{GLM_CALL}", "a <tool_call>f", "b"),
        ("glm_kv", f"a <tool_call> is none, {GLM_CALL} is", "", "a <tool_call> is none,  is"),
        ("kimi_k2", f"a <|tool_call_begin|> and {KIMI_CALL} b", "", "a <|tool_call_begin|> and  b"),
        (
            "kimi_k2",
            f"<|tool_call_begin|><|tool_calls_section_begin|>{KIMI_CALL}<|tool_calls_section_end|>",
            "",
            "<|tool_call_begin|>",
        ),
    ],
)
def test_words_about_calls_take_no_call_with_them(format_name: str, text: str, reasoning: str, out: str) -> None:
    """Outside of a section a header ends, as none, in front of what stands in none: the text goes on there."""
    compiled = grammar(format_name, tools=[{"function": {"name": "f"}}])
    whole = parse(compiled, [text])
    assert [call.arguments for call in named(whole, ToolCall)] == [{"a": "1"}]
    assert (reasoning_of(whole), text_of(whole), codes_of(whole)) == (reasoning, out, [])
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == merged(whole)


def test_an_answer_after_a_header_that_its_section_closes_comes_at_once() -> None:
    """Inside of a section, too, a header ends in front of what no header holds: the text after it waits for nothing."""
    section = "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_end|><|tool_calls_section_end|>"
    parser = MessageParser.of(grammar("kimi_k2"), "identity")
    events = [*parser.feed(section), *parser.feed("The answer")]
    assert (text_of(events), codes_of(events)) == (f"{section}The answer", ["malformed-call"])


def test_a_cap_smaller_than_the_opening() -> None:
    """A cap that the opening alone exceeds still makes one error and loses nothing."""
    text = "a<tool_call><function=some_name><parameter=k>v</parameter></function></tool_call>"
    events = parse(grammar("qwen3_xml", Limits(call_chars=5)), [text])
    assert codes_of(events) == ["limit"]
    assert text_of(events) == text


def test_the_cap_is_no_end_of_the_stream() -> None:
    """A body that may end with the stream is too long where its cap cuts it off, not broken."""
    text = "<|channel|>commentary to=functions.f<|message|><|call|>"
    for size in range(1, len(text)):
        assert codes_of(parse(grammar("harmony", Limits(call_chars=size)), [text])) == ["limit"], size


def test_a_call_of_exactly_the_cap_is_whole() -> None:
    """The cap is the last character that is allowed, not the first that is not."""
    text = "<tool_call><function=f><parameter=k>v</parameter></function>"
    assert codes_of(parse(grammar("qwen3_xml", Limits(call_chars=len(text))), [text])) == []
    assert codes_of(parse(grammar("qwen3_xml", Limits(call_chars=len(text) - 1)), [text])) == ["limit"]


def test_a_header_that_is_the_whole_call() -> None:
    """It says itself that no body follows; what does is read as any other text."""
    text = '<invoke name="f"/><invoke name="g"></invoke>'
    calls = named(parse(grammar("minimax_m2"), [f"<minimax:tool_call>{text}</minimax:tool_call>"]), ToolCall)
    assert [(call.name, call.arguments) for call in calls] == [("f", {}), ("g", {})]
