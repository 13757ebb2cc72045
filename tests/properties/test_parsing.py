"""Promises of the parser over random streams: cuts change nothing (P2), nothing raises (P7), nothing is lost (P9).

Streams are soups of markers, halves of markers, JSON and text, so that most of them are wrong in some way.
"""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.toy import OVERLAPPING
from tests.support.parsing import merged, parse, source_of
from tokenmill.formats import FORMATS, find_format
from tokenmill.limits import Limits
from tokenmill.parser import Format, Grammar, MessageParser, Options

GRAMMARS = [*FORMATS, OVERLAPPING]

JSON = [
    *('{"name": "f", "arguments": {"a": 1, "b": "x"}}', '{"name": "g", "arguments": "{\\"a\\": \\"\\\\n\\"}"}'),
    *(
        '{"arguments":{"name":"B","b":"\\ud83d\\ude00"},"name":"f"}',
        '{"name":',
        '"f"',
        '"arguments":',
        '"b":',
        "1e999",
        "null",
    ),
    *("{", "}", "[", "]", ",", ":", '"', "'", "\\", "\\u", "d83d", "\\ude00", "\n"),
]
TEXT = ["text", " ", "\n", "<", ">", "</", "é", "😀", "\u2028", "f", "b", "12"]
TAGS = [
    *("<tool_call>", "</tool_call>", "<think>", "</think>", "<tool_", "tool_call>", "<function=f>", "<function=g>\n"),
    *("<function=", "</function>", "<parameter=b>", "<parameter=n>", "<parameter=", "</parameter>", "< / parameter >"),
    *("<a>", "<a>b", "</a>", "</a>>", "[CALLS]", "[J]f:", "[J]f::", "[X]g ", "[P b>", "[/P]", "[/X]", "]]"),
    *("<|tool_call>", "<tool_call|>", "call:f{", "call:g{b:", '<|"|>', '<|"|', "<|channel>", "thought\n", "<channel|>"),
    *("<start_function_call>", "<end_function_call>", "<escape>", "<escape", "n:", "b:", ",n:1", "},"),
]
TAGS += [
    *("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|constrain|>json", "analysis", "commentary"),
    *(
        "<|eom|>",
        " to=",
        "to=self",
        "to=user",
        "to=functions.f",
        "assistant",
        '<atem:invoke name="f.f">',
        ">>>",
        "all\n",
    ),
    *('<atem:parameter name="b">', "</atem:parameter>", "</atem:invoke>", "<atem:function_calls>", "f\n", "{}"),
    *(
        "<|message_model|>",
        "<|content_text|>",
        "<|content_thinking|>",
        "<|content_invoke_tool_json|>",
        "<|end_message|>",
    ),
    *(
        "[TOOL_CALLS]",
        "[ARGS]",
        "f[CALL_ID]1",
        "[THINK]",
        "[/THINK]",
        '{"b":"x"}',
        "```json",
        "```",
        "◁think▷",
        "◁/think▷",
    ),
    *("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "function<｜tool▁sep｜>f\n", "<｜tool▁call▁end｜>"),
    *("<|tool_calls_section_begin|>", "<|tool_call_begin|>", "functions.f:0", "<|tool_call_argument_begin|>"),
    *("<|plamo:begin_tool_requests:plamo|>", "<|plamo:begin_tool_name:plamo|>f<|plamo:end_tool_name:plamo|>"),
    *("<|plamo:begin_tool_arguments:plamo|>", "<|plamo:msg|>", "<|plamo:tag|>", "Here is my ", "response:"),
    *("<|open|>", "<|close|>", "<|sep|>", "tools", "think", 'call tool="f&amp;"', 'argument key="b" type="string"'),
]
TAGS += [
    *("<seed:tool_call>", "</seed:tool_call>", "<seed:think>", "<minimax:tool_call>", "</minimax:tool_call>"),
    *(
        '<invoke name="f">',
        "<invoke name=g/>",
        "</invoke>",
        '<parameter name="b">',
        '<parameter name="n" string="true">',
    ),
    *(
        "<dots_function_call>",
        "</dots_function_call>",
        "<｜tool_calls_begin｜>",
        "<｜tool_call_begin｜>",
        "</ steptml:invoke>",
    ),
    *('<steptml:invoke name="f">', '<steptml:parameter name="b">', "</steptml:parameter>", "<｜tool_call_end｜>"),
    *(
        "<｜DSML｜tool_calls>",
        '<｜DSML｜invoke name="f">',
        '<｜DSML｜parameter name="b" string="false">',
        "</｜DSML｜ invoke>",
    ),
    *("<｜DSML｜ calls>", "</｜DSML｜parameter>", "</｜DSML｜tool", "<｜GCML｜tool_calls>", "<｜end▁of▁sentence｜>"),
    *("<tool_call>f\n", "<arg_key>b", "</arg_key>", "<arg_value>", "</arg_value>", "<tool_calls>", "<tool_sep>", "\\n"),
    *("<ifm|tool_calls>", "<ifm|tool_call>f", "<ifm|arg_key>b</ifm|arg_key>", "<ifm|arg_type>integer</ifm|arg_type>"),
    *("<ifm|arg_value>", "</ifm|arg_value>", "</ifm|tool_call>", '{"function":{', "]<]minimax[>[", "]<]minimax[>[</"),
    *("]<]minimax[>[<tool_call>", ']<]minimax[>[<invoke name="f">', "]<]minimax[>[<b>", "]<]minimax[>[</b>"),
    *("]<]minimax[>[<item>", "]<]minimax[>[</item>", "]<]minimax[>[</invoke>", "<mm:think>"),
    *('<function name="f">', '<param name="b">', "</param>", "<![CDATA[", "]]>", "&lt;", "&amp", "<functionname=f>"),
    *(
        "<|tool_call_start|>[",
        "]<|tool_call_end|>",
        "<function_calls>",
        "</function_calls>",
        "<|python_start|>",
        "[f(b=",
    ),
    *("<|python_end|>", "f(", "f(b=", "g(n=", ", b=", ")]", "), ", "'''", '"""', 'r"', "\\x4", "\\N", "07", "None"),
]
TAGS += [
    *("<longcat_tool_call>", "</longcat_tool_call>", "<response>", "\n</response>", "<|action_start|><|plugin|>"),
    *("<|action_end|>", "<function_call>", "<|tool_call|>", "<tool_calls>", "</tool_calls>", "<answer>\n", "</answer>"),
    *("<|message_sep|>", "\n\nfunction call<|role_sep|>\n", "<|function_call|>", "</s>", "<TOOLCALL>", "</TOOLCALL>"),
    *("functools[", "[BEGIN FINAL RESPONSE]", "<|tools_prefix|>[", '{"f": {"b": 1}}', '{"f": {', "<|tools_suffix|>"),
    *("<|inner_prefix|>", "<|inner_suffix|>", "<|START_ACTION|>", '"tool_call_id":', '"tool_name":', "<|END_ACTION|>"),
    *("<|START_THINKING|>", "<|END_THINKING|>", "<co>", "</co: 0:[1", "Action:\n```json\n", "<|python_tag|>", ";"),
    *(
        '{"name": "f", "parameters": {"',
        "{'name': 'g', 'arguments': {'b': ",
        '[{"type": "function", "name": "f", ',
        "//",
        "*/",
    ),
]
TAGS += [
    *(
        '{"tool": "f", ',
        '"params": ',
        '{"tool"',
        '{"params": [',
        '{"tool": "f", "params": {"b": "x"}}',
        '{ "',
        "tru",
        "-1.",
        "01",
    ),
    *('{"content":', ' {"content": "a', '"toolCall": {"name": "f", "args": {', "\\u00", "\\n", "a. ", ". "),
]
TAGS += [
    *('<tool name="f">', '<tool name="write_file">', "</tool>", '<arg name="path">', "<arg name='content'>", "</arg>"),
    *("<write_file path='/a'>", "</write_file>", "<run_bash>", "</run_bash>", "__START_CONTENT__\n", "__END_CONTENT__"),
    *('{"tool": {"function": "f", "parameters": {', '{"tool', "[[SEG_START ", '{"type":"text"}]]', "[[SEG_END]]"),
    *('[[SEG_START {"type":"run_bash"}]]', '[[SEG_START {"type":"tool"}]]', '"tool_name":"f"}]]', "</arguments>"),
]
PIECE = st.one_of(st.sampled_from(TAGS), st.sampled_from(JSON), st.sampled_from(TEXT), st.text(max_size=4))
TOOLS: list[dict[str, Any]] = [
    {
        "function": {
            "name": "f",
            "parameters": {"properties": {"b": {"type": ["string", "null"]}, "n": {"type": "integer"}}},
        }
    }
]
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.just(TOOLS),
        "content_arguments": st.just(["*"]),
        "min_delta_chars": st.just(3),
        "start": st.sampled_from(["text", "reasoning", "header"]),
        "parse": st.sampled_from(["tools", "reasoning", "none"]),
        "unknown_tool": st.sampled_from(["call", "text", "drop"]),
        "calls_in_reasoning": st.sampled_from(["honour", "ignore"]),
        "on_broken": st.just("drop"),
        "on_unfinished": st.just("drop"),
        "text_after_calls": st.just("drop"),
        "stream_tool_input": st.sampled_from([False]),
        "text_mode": st.sampled_from(["smart", "passthrough"]),
        "max_buffer_chars": st.sampled_from([0, 5]),
    },
)
LIMITS = st.builds(
    Limits,
    call_chars=st.sampled_from([10_000, 60, 20]),
    message_chars=st.sampled_from([100_000, 80, 15]),
    calls=st.sampled_from([100, 1]),
    delta_chars=st.sampled_from([10_000, 7]),
)


@st.composite
def grammars(draw: st.DrawFn) -> Grammar:
    """A format under random options and caps, traced."""
    format_ = draw(st.sampled_from(GRAMMARS))
    options: dict[str, Any] = draw(OPTIONS)
    return Grammar(Options(format=format_.name, **options), [format_], draw(LIMITS), traced=True)


@st.composite
def streams(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A text, and the same text in chunks."""
    text = "".join(draw(st.lists(PIECE, max_size=25)))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    return text, [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@given(grammars(), streams())
def test_cuts_change_nothing(grammar: Grammar, stream: tuple[str, list[str]]) -> None:
    """P2: whole, in random chunks and one character at a time the same events come out, deltas joined."""
    text, chunks = stream
    whole = merged(parse(grammar, [text]))
    assert merged(parse(grammar, chunks)) == whole
    assert merged(parse(grammar, list(text))) == whole


@given(grammars(), streams())
def test_no_character_is_lost(grammar: Grammar, stream: tuple[str, list[str]]) -> None:
    """P9: text, reasoning, calls and markers put together again are the input, each character once."""
    text, chunks = stream
    assert source_of(parse(grammar, chunks)) == (grammar.prompt + text if text else "")


@given(grammars(), streams())
def test_a_snapshot_at_any_boundary_changes_nothing(grammar: Grammar, stream: tuple[str, list[str]]) -> None:
    """P3: the state as bytes is all that the parser knows."""
    _, chunks = stream
    parser, events = MessageParser.of(grammar, "identity"), []
    for chunk in chunks:
        events += parser.feed(chunk)
        parser = MessageParser.of_state(grammar, parser.encode_state())
    assert events + parser.finish() == parse(grammar, chunks)


@given(grammars(), streams())
def test_every_input_that_starts_ends(grammar: Grammar, stream: tuple[str, list[str]]) -> None:
    """P7: events are well-formed whatever the model writes: one end and then one call or error for each start."""
    _, chunks = stream
    untraced = Grammar(grammar.options, [find(grammar)], grammar.limits)
    open_inputs: dict[str, str] = {}
    events = parse(untraced, chunks)
    for event in events:
        if event.type == "tool-input-start":
            open_inputs[event.id] = "open"
        elif event.type == "tool-input-end":
            assert open_inputs[event.id] == "open"
            open_inputs[event.id] = "ended"
        elif event.type in ("tool-call", "error") and getattr(event, "id", None) in open_inputs:
            assert open_inputs[event.id] in ("ended", "failed")
            open_inputs[event.id] = "failed" if event.type == "error" else "called"
        msgspec.json.encode(event)
        assert len(getattr(event, "delta", "")) <= grammar.limits.delta_chars
    assert set(open_inputs.values()) <= {"failed", "called"}
    assert [event.type for event in events].count("finish") == 1
    assert events[-1].type == "finish"


def find(grammar: Grammar) -> Format:
    """The format of a grammar that has one."""
    (name,) = grammar.format_names
    return OVERLAPPING if name == "overlapping" else find_format(name)
