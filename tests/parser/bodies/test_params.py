"""Tagged parameters: values as written, typed at the end, sent early only where that is certain; what is layout."""

from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ArgumentDelta, ToolCall, ToolInputDelta
from tokenmill.parser import Call, Format, Header, MessageParser, Section
from tokenmill.parser.bodies import Params
from tokenmill.parser.bodies.closings import TAG_CHARS
from tokenmill.parser.bodies.params import (
    LAYOUTS,
    STRIP_CHARS,
    Trim,
    fitting,
    may_wrap,
    read_object,
    unwrapped,
)
from tokenmill.parser.markers import SPACE_CHARS, marker

TOOL = {
    "function": {
        "name": "f",
        "parameters": {
            "properties": {
                "s": {"type": "string"},
                "n": {"type": ["string", "null"]},
                "i": {"type": "integer"},
                "m": {"type": ["string", "integer", "null"]},
            }
        },
    }
}


def xml(*parameters: tuple[str, str]) -> str:
    """A call with values as they are."""
    values = "".join(f"<parameter={key}>{value}</parameter>\n" for key, value in parameters)
    return f"<tool_call>\n<function=f>\n{values}</function>\n</tool_call>"


def grown(text: str, chunks: list[str] | None = None, **options: Any) -> dict[str, str]:
    """Decoded deltas by argument."""
    compiled = grammar("qwen3_xml", tools=[TOOL], content_arguments=["*"], **options)
    out: dict[str, str] = {}
    for event in named(parse(compiled, chunks or [text]), ArgumentDelta):
        out[event.argument] = out.get(event.argument, "") + event.delta
    return out


def test_a_last_line_that_is_no_layout_is_sent_where_null_is_allowed() -> None:
    """A value that does not begin on its own line does not end on one, either: its deltas are all of it."""
    compiled = grammar("seed_oss", tools=[TOOL], content_arguments=["*"])
    text = "<seed:tool_call>\n<function=f>\n<parameter=n>nul\n</parameter>\n</function>\n</seed:tool_call>"
    events = parse(compiled, [text])
    assert [event.delta for event in named(events, ArgumentDelta)] == ["nul\n"]
    assert named(events, ToolCall)[0].arguments == {"n": "nul\n"}


def test_source_is_the_region_between_the_tags() -> None:
    """Verbatim, layout included, without the tags of the function."""
    events = parse(grammar("qwen3_xml"), [xml(("s", "\nx\n"))])
    assert "".join(event.delta for event in named(events, ToolInputDelta)) == "\n<parameter=s>\nx\n</parameter>\n"


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ([("s", "\nx\n\n")], {"s": "x\n"}),
        ([("s", "\n\nx")], {"s": "\nx"}),
        ([("s", "null")], {"s": "null"}),
        ([("n", "null")], {}),
        ([("n", "\nNull\n")], {}),
        ([("n", "nullify")], {"n": "nullify"}),
        ([("n", "null\n\n")], {"n": "null\n"}),
        ([("n", "nul")], {"n": "nul"}),
        ([("i", "5")], {}),
        ([("i", "x")], {"i": "x"}),
        ([("s", "a"), ("s", "b")], {"s": "a"}),
        ([("s", "")], {}),
        ([("other", "x < y")], {"other": "x < y"}),
    ],
)
def test_decoded_deltas(parameters: list[tuple[str, str]], expected: dict[str, str]) -> None:
    """Text that is sent as it grows is the final value, whatever is trimmed, wherever it is cut."""
    text = xml(*parameters)
    assert grown(text) == expected
    for chunks in all_cuts(text):
        assert grown(text, list(chunks)) == expected
    if len(parameters) == 1 and expected:
        (call,) = named(parse(grammar("qwen3_xml", tools=[TOOL]), [text]), ToolCall)
        assert call.arguments == expected


def test_what_is_certain_is_sent_at_once() -> None:
    """Text goes out with its chunk; what may be null waits until it can't; a number waits for its end."""
    parser = MessageParser.of(grammar("qwen3_xml", tools=[TOOL], content_arguments=["*"]), "identity")

    def deltas(chunk: str) -> str:
        return "".join(event.delta for event in named(parser.feed(chunk), ArgumentDelta))

    parser.feed("<function=f><parameter=s>")
    assert [deltas(chunk) for chunk in ("\n", "a", "\n", "b", "<", "c")] == ["", "a", "", "\nb", "", "<c"]
    parser.feed("\n</parameter><parameter=n>")
    assert [deltas(chunk) for chunk in ("nu", "ll", "!", "x")] == ["", "", "null!", "x"]
    parser.feed("</parameter><parameter=i>")
    assert [deltas(chunk) for chunk in ("1", "2")] == ["", ""]


def test_deltas_may_wait_for_a_size() -> None:
    """`min_delta_chars` holds decoded text back; the end sends what is left."""
    compiled = grammar("qwen3_xml", tools=[TOOL], content_arguments=["*"], min_delta_chars=4)
    events = parse(compiled, list(xml(("s", "abcdefghij"))))
    assert [event.delta for event in named(events, ArgumentDelta)] == ["abcd", "efgh", "ij"]


def test_a_tag_without_end_is_no_parameter() -> None:
    """A key has a bound; beyond it the call is broken and comes out as text."""
    text = "<tool_call><function=f><parameter=" + "k" * (TAG_CHARS + 1)
    events = parse(grammar("qwen3_xml"), list(text))
    assert codes_of(events) == ["malformed-call"]
    assert text_of(events) == text
    assert merged(events) == merged(parse(grammar("qwen3_xml"), [text]))


@pytest.mark.parametrize("ending", ["</tool_call>", "</tool_call>\n", "<tool_call>"])
def test_what_surrounds_a_call_ends_it(ending: str) -> None:
    """A missing `</function>` behind complete values is made good where the stream ends."""
    events = parse(grammar("qwen3_xml"), ["<tool_call><function=f><parameter=s>x</parameter>\n" + ending])
    assert named(events, ToolCall)[0].arguments == {"s": "x"}


@pytest.mark.parametrize("region", ["` but no.\n", "\nsee below {}\n", "\nx</parameter>"])
def test_text_where_parameters_should_stand(region: str) -> None:
    """An opening that prose names is no call without arguments: its source is text, and the call behind it is one."""
    text = f"I could use `<function=f>{region}\n" + xml(("i", "5"))
    compiled = grammar("qwen3_xml", tools=[TOOL])
    events = parse(compiled, [text])
    assert [call.arguments for call in named(events, ToolCall)] == [{"i": 5}]
    assert codes_of(events) == ["malformed-call"]
    assert text_of(events) == text.removesuffix(xml(("i", "5")))
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == merged(events)


@pytest.mark.parametrize("spaces", [SPACE_CHARS, SPACE_CHARS + 1])
@pytest.mark.parametrize("body", ['{"i": 5}', "<parameter=i>5</parameter>"])
def test_white_space_in_front_of_a_body_is_bounded(spaces: int, body: str) -> None:
    """More of it is no layout, however it is cut."""
    text = f"<tool_call><function=f>{' ' * spaces}{body}</function></tool_call>"
    compiled = grammar("qwen3_xml", tools=[TOOL])
    whole = parse(compiled, [text])
    assert [call.arguments for call in named(whole, ToolCall)] == [{"i": 5}] * (spaces == SPACE_CHARS)
    for size in (1, 7, 1024):
        chunks = [text[at : at + size] for at in range(0, len(text), size)]
        assert merged(parse(compiled, chunks)) == merged(whole)


@pytest.mark.parametrize(
    ("name", "opening"),
    [
        *(("qwen3_xml", "<function=f>"), ("mimo", "<function=f>"), ("seed_oss", "<function=f>")),
        *(("minimax_m2", '<invoke name="f">'), ("deepseek_dsml", '<｜DSML｜invoke name="f">')),
    ],
)
def test_words_behind_an_opening_in_prose_are_not_held_back(name: str, opening: str) -> None:
    """They show at once that it begins no call, so that the answer behind it comes as it is written."""
    parser = MessageParser.of(grammar(name, tools=[TOOL], start="text"), "identity")
    text = f"It begins with `{opening}"
    assert text_of(parser.feed(text)) == text.removesuffix(opening)
    for space in (" ", "\n"):
        assert text_of(parser.feed(space)) == ""
    events = parser.feed("as told")
    assert (text_of(events), codes_of(events)) == (f"{opening} \nas told", ["malformed-call"])


@pytest.mark.parametrize(
    "text",
    [
        *("<function=f></function>", "<function=f>\n</function>", "<function=f>\n</tool_call>"),
        *("<tool_call><function=f> {} </function></tool_call>", "<tool_call><function=f>\n</parameter></function>"),
    ],
)
def test_no_parameters(text: str) -> None:
    """White space, an empty object and a stray closing are a call without arguments."""
    assert [call.arguments for call in named(parse(grammar("qwen3_xml", tools=[TOOL]), [text]), ToolCall)] == [{}]


PAIRS = Format(
    name="pairs",
    summary="",
    sample="",
    sections=(
        Section(
            marker("<call>"),
            marker("</call>"),
            (
                Call(
                    marker("<name>"),
                    Params(
                        marker("<key"),
                        marker("</value>"),
                        marker("</name>"),
                        tag_end=marker("</key><value>", spaces=True),
                        key=r'(?: type="(?P<type>\w+)")?>(?P<key>\w+)',
                        trim="strip",
                        untyped="json",
                        wire_types={"str": "string", "obj": "json"},
                    ),
                    Header(until=marker("|")),
                ),
            ),
        ),
    ),
)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ("<key>a</key><value> 1 </value>", {"a": 1}),
        ("<key>a</key>\n<value>x y\n\n</value>", {"a": "x y"}),
        ('<key type="str">a</key><value> 1 </value>', {"a": "1"}),
        ('<key type="obj">a</key><value>[1]</value><key>b</key><value>{}</value>', {"a": [1], "b": {}}),
        ('<key type="str">i</key><value>7</value>', {"i": 7}),
        ('<key type="str">n</key><value> null </value>', {"n": None}),
        ('<key type="str">m</key><value>00123</value>', {"m": "00123"}),
        ('<key type="str">m</key><value>null</value>', {"m": None}),
        ('<key type="obj">m</key><value>123</value>', {"m": 123}),
        ("<key>m</key><value>123</value>", {"m": 123}),
        ("<key>s</key><value>  null</value>", {"s": "null"}),
        ("", {}),
    ],
)
def test_pairs_of_tags(pairs: str, expected: dict[str, Any]) -> None:
    """Key and value in tags of their own; the schema gives the type, then the tag, then the value's look.

    If the schema allows text among other types, a tag that marks the value as text decides.
    """
    text = f"<call><name>f|{pairs}</name></call>"
    compiled = grammar(PAIRS, tools=[TOOL], content_arguments=["*"])
    whole = merged(parse(compiled, [text]))
    (call,) = [event for event in whole if isinstance(event, ToolCall)]
    assert call.arguments == expected
    deltas = {
        stream[1]: delta
        for stream, delta in (item for item in whole if isinstance(item, tuple))
        if stream[0] == "argument"
    }
    assert deltas == {key: value for key, value in expected.items() if isinstance(value, str)}
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole


def test_a_tag_that_is_none() -> None:
    """A tag of another form breaks the call."""
    events = parse(grammar(PAIRS), ["<call><name>f|<key!</key><value>1</value></name></call>"])
    assert codes_of(events) == ["malformed-call"]


def test_trimming_is_bounded() -> None:
    """White space beyond what layout can be is content, whether it is sent as it grows or not."""
    value = "x" + " " * (STRIP_CHARS + 5)
    text = f'<call><name>f|<key type="str">a</key><value>{value}</value></name></call>'
    events = parse(grammar(PAIRS, content_arguments=["*"]), list(text))
    assert named(events, ToolCall)[0].arguments == {"a": "x" + " " * 5}
    assert "".join(event.delta for event in named(events, ArgumentDelta)) == "x" + " " * 5


@pytest.mark.parametrize(
    ("trim", "text", "whole"),
    [
        ("none", "\n x \n", "\n x \n"),
        ("line", "\n x \n", " x "),
        ("line", "\n\nx\n\n", "\nx\n"),
        ("line", "\n", ""),
        ("line", " \nx\n ", " \nx\n "),
        ("lines", "\nx\n\n", "x\n"),
        ("lines", "x\n", "x\n"),
        ("lines", "\n", ""),
        ("strip", "\n x \n\t", "x"),
        ("strip", " " * (2 * STRIP_CHARS + 1), " "),
        ("strip", "", ""),
    ],
)
def test_whole(trim: Trim, text: str, whole: str) -> None:
    """A complete value without its layout."""
    assert LAYOUTS[trim].whole(text) == whole


def test_certain() -> None:
    """What may be layout at the end is not certain; what was cut off there is never certain later either."""
    assert [LAYOUTS[trim].certain("a \n") for trim in ("none", "line", "strip")] == ["a \n", "a ", "a"]


def test_leading() -> None:
    """Layout at the beginning is counted down over chunks."""
    assert LAYOUTS["strip"].leading("  x", 1) == 1
    assert LAYOUTS["line"].leading("\n\n", 1) == 1


TOOLS = [
    {
        "function": {
            "name": "f",
            "parameters": {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", 7]},
        }
    },
    {"function": {"name": "own", "parameters": {"properties": {"arguments": {}}}}},
    {"function": {"name": "none"}},
]
GRAMMAR = grammar("plain", tools=TOOLS)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("f", {"arguments": '{"a": "x"}'}, {"a": "x"}),
        ("f", {"input": {"a": 1, "b": 2}}, {"a": 1, "b": 2}),
        ("f", {"arguments": {"z": 1}}, {"arguments": {"z": 1}}),
        ("f", {"arguments": "text"}, {"arguments": "text"}),
        ("f", {"arguments": {"a": 1}, "b": 2}, {"arguments": {"a": 1}, "b": 2}),
        ("f", {"other": {"a": 1}}, {"other": {"a": 1}}),
        ("f", {}, {}),
        ("own", {"arguments": {"arguments": 1}}, {"arguments": {"arguments": 1}}),
        ("none", {"arguments": {"a": 1}}, {"arguments": {"a": 1}}),
        ("f", {"": {"a": 1}}, {"a": 1}),
        ("none", {"": '{"z": 1}'}, {"z": 1}),
    ],
)
def test_wrappers(tool: str, arguments: dict[str, Any], expected: dict[str, Any]) -> None:
    """A parameter that the tool does not have, alone and with what the tool has inside; and one that has no name."""
    assert unwrapped(GRAMMAR, tool, arguments) == (expected, False)


@pytest.mark.parametrize("arguments", [{"": "text"}, {"": [1]}, {"": {"a": 1}, "b": 2}, {"": "{}", "b": 2}])
def test_a_parameter_without_a_name_is_all_arguments_or_none(arguments: dict[str, Any]) -> None:
    """No tool has such a parameter."""
    with pytest.raises(ValueError, match="no name"):
        unwrapped(GRAMMAR, "f", arguments)


def test_what_may_be_a_wrapper() -> None:
    """Its text is not sent as it grows: it may not be an argument."""
    assert may_wrap(GRAMMAR, "f", "arguments")
    assert not may_wrap(GRAMMAR, "own", "arguments")
    assert not may_wrap(GRAMMAR, "f", "a")


def test_a_repaired_wrapper_is_marked() -> None:
    """What it held was no valid JSON."""
    assert unwrapped(GRAMMAR, "f", {"arguments": '{"a": "x\n"}'}) == ({"a": "x\n"}, True)


@pytest.mark.parametrize(("text", "expected"), [("", {}), (" \n", {}), ("words", {}), (' {"a": 1} ', {"a": 1})])
def test_json_in_place_of_parameters(text: str, expected: dict[str, Any]) -> None:
    """One object is the arguments; anything else is none."""
    assert read_object(text) == (expected, False)


def test_json_that_can_not_be_read() -> None:
    """What begins like an object must be one."""
    with pytest.raises(ValueError, match=r"unexpected|Expecting|end|JSON"):
        read_object("{")


def test_a_call_that_must_fit() -> None:
    """Unknown parameters go; a missing or repeated one is an error."""
    assert fitting(GRAMMAR, "f", {"a": "x", "z": 1}) == {"a": "x"}
    assert fitting(GRAMMAR, "none", {"z": 1}) == {"z": 1}
    with pytest.raises(ValueError, match="missing: a"):
        fitting(GRAMMAR, "f", {"b": 1})
    with pytest.raises(ValueError, match="repeated"):
        fitting(GRAMMAR, "f", {"a": 1}, 1)
