"""What ends a value: a closing behind which the call goes on, not one that is content."""

from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ToolCall
from tokenmill.parser.bodies.closings import XML

TOOL = {
    "function": {
        "name": "write",
        "parameters": {"properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
    }
}
CALL = "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>"


def written(content: str, *, before: str = "", after: str = "") -> str:
    """A call as the model's template writes it."""
    return (
        f"<tool_call>\n<function=write>\n{before}<parameter=content>\n{content}\n</parameter>\n{after}"
        "</function>\n</tool_call>"
    )


def arguments_of(text: str, **options: Any) -> list[dict[str, Any]]:
    """Arguments of all calls, which are the same wherever the text is cut."""
    compiled = grammar("qwen3_xml", content_arguments=["*"], **options)
    whole = merged(parse(compiled, [text]))
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole
    return [event.arguments for event in whole if isinstance(event, ToolCall)]


@pytest.mark.parametrize("tools", [[], [TOOL]])
@pytest.mark.parametrize(
    "content",
    [
        "a </parameter> b",
        "a</parameter>\n</function>\n</tool_call>\nb",
        "</function>",
        "a\n</function>\n</tool_call>\nb",
        "  </parameter>\n  </function>\n  </tool_call>",
        "see <parameter=x> there",
        "a\n<parameter=x>\nb",
        "a\n</parameter>\nb",
        CALL,
        f"{CALL}\n{CALL}",
    ],
)
def test_content(content: str, tools: list[Any]) -> None:
    """What looks like markup where none can stand is content."""
    assert arguments_of(written(content), tools=tools) == [{"content": content}]


def test_parameters_in_a_value() -> None:
    """The same goes for pairs of tags without a call around them."""
    content = "a\n<parameter=x>\n1\n</parameter>\n<parameter=y>\n2\n</parameter>"
    assert arguments_of(written(content), tools=[TOOL]) == [{"content": content}]
    assert arguments_of(written(content)) == []


def test_a_stray_parameter_in_front_of_another() -> None:
    """The tool says which parameter is its own; without it nobody knows."""
    text = written("a\n<parameter=x>\nb", after="<parameter=path>\np\n</parameter>\n")
    assert arguments_of(text, tools=[TOOL]) == [{"content": "a\n<parameter=x>\nb", "path": "p"}]
    assert arguments_of(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call><function=write><parameter=path>a\n<parameter=content>b</parameter></function></tool_call>",
        "<tool_call><function=write><parameter=path>a</parameter><parameter=content>b</function></tool_call>",
        "<tool_call><function=write><parameter=path>a</parameter><parameter=content>b</parameter></tool_call>",
        "<tool_call>\n<function=write>\n<parameter=path>\na</parameter>\n<parameter=content>\nb</parameter>\n</function>",
    ],
)
def test_forgotten_closings(text: str) -> None:
    """A next parameter that the tool has, or the end of the stream, takes their place."""
    assert arguments_of(text, tools=[TOOL]) == [{"path": "a", "content": "b"}]


RUN = {"function": {"name": "run", "parameters": {"properties": {"code": {"type": "string"}}}}}
HALF = {
    "qwen3_xml": "<tool_call>\n<function=run>\n<parameter=code>\nx</function>\n",
    "mimo": "<tool_call>\n<function=run>\n<parameter=code>x</function>\n</tool_call>",
    "glm_kv": "<tool_call>run\n<arg_key>code</arg_key>\n<arg_value>x</tool_call>",
    "minimax_m2": '<minimax:tool_call>\n<invoke name="run">\n<parameter name="code">x</invoke>\n',
    "muse": (
        " to=run<|message|><atem:function_calls>\n"
        '<atem:invoke name="run">\n<atem:parameter name="code">x</atem:invoke>\n'
    ),
    "minicpm5_xml": '<function name="run"><param name="code">x</function>',
    "deepseek_dsml": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="run">\n<｜DSML｜parameter name="code">x</｜DSML｜invoke>'
    ),
    "solar_open2": "<|tool_call:start|>run\n<|tool_arg:start|>code<|tool_arg:value|>x<|tool_call:end|>",
    "kimi_k3": (
        '<|open|>tools<|sep|><|open|>call tool="run" index="1"<|sep|>'
        '<|open|>argument key="code" type="string"<|sep|>x<|close|>call<|sep|>'
    ),
}
"""Calls that end in an open value, by format."""


@pytest.mark.parametrize("format_name", HALF)
def test_an_answer_that_is_cut_off_forgot_nothing(format_name: str) -> None:
    """What the model itself ends so is a call; where more would have come, the closing may be content of the value."""
    text, compiled = HALF[format_name], grammar(format_name, tools=[RUN])
    (call,) = named(parse(compiled, [text]), ToolCall)
    assert call.arguments == {"code": "x"}
    for chunks in ([text], list(text)):
        events = parse(compiled, chunks, "length")
        assert not named(events, ToolCall)
        assert codes_of(events) == ["unfinished-call"]
        assert text_of(events).endswith("x" + text.rpartition("x")[2])


@pytest.mark.parametrize("content", ["a</function>\nb", "a\n</parameter>\n</tool_call>\nb", "</function>", CALL])
def test_cut_off_anywhere(content: str) -> None:
    """There is the whole call or none, never one with a part of its value."""
    text, compiled = written(content), grammar("qwen3_xml", tools=[TOOL])
    for at in range(len(text)):
        calls = named(parse(compiled, [text[:at]], "length"), ToolCall)
        assert [call.arguments for call in calls] in ([], [{"content": content}])


@pytest.mark.parametrize(
    "text",
    [
        written("a </parameter> b", before="<parameter=path>\nx\n"),
        "<tool_call><function=write><parameter=path>a</parameter> b</function></tool_call>",
        (
            "<tool_call><function=write><parameter=path>a\n<parameter=content>b</parameter>\n"
            "<parameter=content>c</parameter></function></tool_call>"
        ),
    ],
)
def test_both_is_broken(text: str) -> None:
    """A call that has closings which are content and others that were forgotten is not executed."""
    events = parse(grammar("qwen3_xml", tools=[TOOL]), [text])
    assert not named(events, ToolCall)
    assert codes_of(events) == ["malformed-call"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a &lt;&gt;&amp;&quot;&apos;", "a <>&\"'"),
        ("&amp;lt;", "&lt;"),
        ("&lt &nbsp; & ]]>", "&lt &nbsp; & ]]>"),
        ("<![CDATA[&lt;\n]]>&lt;<![CDATA[]]>", "&lt;\n<"),
        ("<![CDATA[x", "<![CDATA[x"),
    ],
)
def test_decoding(text: str, expected: str) -> None:
    """Each character once; a raw section as it stands; what is no escape stays."""
    assert XML.decoder()(text) == expected
