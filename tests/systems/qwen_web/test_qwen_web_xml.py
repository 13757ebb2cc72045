"""What qwen_web_xml has of its own; its cases are run by the conformance suite."""

from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ArgumentDelta, TextDelta, ToolCall, ToolInputDelta
from tokenmill.limits import NAME_CHARS
from tokenmill.parser import Call, Format, Header, MessageParser, Section
from tokenmill.parser.markers import ahead, marker
from tokenmill.systems.qwen_web.qwen_web_xml import Children

FORMAT = Format(
    name="children",
    summary="",
    sample="",
    sections=(
        Section(
            None,
            None,
            (
                Call(
                    marker("<", ahead=[ahead("f >")]),
                    Children(),
                    Header(until=marker(">"), pattern=r"(?P<name>\w+)\s*"),
                ),
            ),
            bare="always",
        ),
    ),
)
TOOL = {
    "function": {
        "name": "f",
        "parameters": {
            "properties": {"s": {"type": "string"}, "n": {"type": ["string", "null"]}, "i": {"type": "integer"}}
        },
    }
}


def read(text: str, **options: Any) -> Any:
    """The arguments of the one call, or the code of what is wrong with it; the same at every cut."""
    compiled = grammar(FORMAT, tools=[TOOL], content_arguments=["*"], **options)
    events = parse(compiled, [text])
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == merged(events), chunks
    calls = named(events, ToolCall)
    return calls[0].arguments if calls else (codes_of(events), text_of(events))


@pytest.mark.parametrize(
    ("inside", "arguments"),
    [
        ("<s>x</s>", {"s": "x"}),
        ("\n<s>\n\nx\n\n</s>\n<i> 7 </i>\n", {"s": "x", "i": 7}),
        ("<s></s>", {"s": ""}),
        ("<s>a</s><s>b</s>", {"s": "b"}),
        ("<other>1</other>", {"other": "1"}),
        ("<n>null</n>", {"n": None}),
        ("<n>nullable</n>", {"n": "nullable"}),
        ("<s>null</s>", {"s": "null"}),
        ("<s>a<s>b</s>c</s>", {"s": "a<s>b</s>c"}),
        ("<s>a<f>b</f>c</s>", {"s": "a<f>b</f>c"}),
        ("<s>a<f >b</f >c</s>", {"s": "a<f >b</f >c"}),
        ("<s>use <f> here</s>", {"s": "use <f> here"}),
        ("<f>x</f>", {"f": "x"}),
        ("<s>a<b</s", None),
        ("<s>a < b, </t> <s1> <ss></s>", {"s": "a < b, </t> <s1> <ss>"}),
        ("junk <s>x</s> </t> <", {"s": "x"}),
        ("", {}),
        (" \n ", {}),
    ],
)
def test_values(inside: str, arguments: dict[str, Any] | None) -> None:
    """Raw text between the tags, without the line breaks around it, as the schema wants it."""
    found = read(f"<f>{inside}</f>")
    assert found == arguments if arguments is not None else found[0] == ["malformed-call"]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("<f><s>x</f>", "malformed-call"),
        ("<f><s><s>x</s></f>", "malformed-call"),
        ("<f>text</f>", "malformed-call"),
        ("<f></s></f>", "malformed-call"),
        ("<f><s>x</s>", "unfinished-call"),
        ("<f><s>x</s></f", "unfinished-call"),
        ("<f>", "unfinished-call"),
        ("<f><s>x<f></f></f>", "malformed-call"),
    ],
)
def test_what_is_broken_comes_out_as_text(source: str, code: str) -> None:
    """P9: to the character, with one error."""
    assert read(source) == ([code], source)


def test_a_tag_with_a_long_name_is_none() -> None:
    """P8: it is not waited for."""
    name = "n" * (NAME_CHARS + 1)
    assert read(f"<f><{name}>x</{name}><s>x</s></f>") == {"s": "x"}


def deltas(*chunks: str) -> list[list[str]]:
    """What grows with each chunk behind the beginning of a call."""
    parser = MessageParser.of(grammar(FORMAT, tools=[TOOL], content_arguments=["*"]), "identity")
    parser.feed("<f><s>")
    return [[event.delta for event in named(parser.feed(chunk), ArgumentDelta)] for chunk in chunks]


def test_text_grows_and_only_what_may_be_a_tag_or_layout_waits() -> None:
    """The exact beginning of a tag that counts, and line breaks at the end."""
    assert deltas("\n", "a", "b\n", "\nc") == [[], ["a"], ["b"], ["\n\nc"]]
    assert deltas("a <", "b") == [["a "], ["<b"]]
    assert deltas("a</", "s", "t") == [["a"], [], ["</st"]]
    assert deltas("a</", "s", " ", ">") == [["a"], [], [], []]
    assert deltas("<", "s", ">", "b</s>", "c\n</s>") == [[], [], ["<s>"], ["b", "</s>"], ["c"]]


def test_the_source_is_sent_as_it_comes() -> None:
    """Verbatim, tags and junk included."""
    source = "junk<s>x\n</s> <i>7</i>"
    events = parse(grammar(FORMAT, tools=[TOOL]), list(f"<f>{source}</f>"))
    assert "".join(event.delta for event in named(events, ToolInputDelta)) == source


def tool(name: str) -> dict[str, Any]:
    """A tool without a schema."""
    return {"type": "function", "function": {"name": name}}


def test_its_sample_is_a_call_where_the_tool_is_declared() -> None:
    """Without tools any element would be one."""
    text = "a <get_weather>\n<city>Paris</city>\n<days>3</days>\n</get_weather>"
    (call,) = named(parse(grammar("qwen_web_xml", tools=[tool("get_weather")]), [text]), ToolCall)
    assert call.arguments == {"city": "Paris", "days": "3"}
    assert text_of(parse(grammar("qwen_web_xml"), [text])) == text


def test_nothing_is_held_but_the_beginning_of_a_tools_tag() -> None:
    """Of other elements and of comparisons nothing waits."""
    parser = MessageParser.of(grammar("qwen_web_xml", tools=[tool("read"), tool("real")]), "identity")
    chunks = ["a <", "b", " <re", "f", " <rea", "l", "ly", "<read", " x", "<real"]
    sent = ["".join(event.delta for event in named(parser.feed(chunk), TextDelta)) for chunk in chunks]
    assert sent == ["a ", "<b", " ", "<ref", " ", "", "<really", "", "<read x", ""]


@pytest.mark.parametrize("name", ["read-all", "1st", "", "n" * (NAME_CHARS + 1), "a.b", "a b"])
def test_a_tool_whose_name_is_no_tag_has_none(name: str) -> None:
    """The others keep theirs."""
    text = f"<{name}><a>1</a></{name}>"
    compiled = grammar("qwen_web_xml", tools=[tool(name), tool("read")])
    assert text_of(parse(compiled, [text])) == text
    assert named(parse(compiled, [text + "<read></read>"]), ToolCall)


def test_behind_the_first_call_nothing_is_parsed() -> None:
    """What looks like another call is dropped with the text, or kept as text."""
    tools, text = [tool("read")], "<read></read> <read></read> <rea"
    dropped = parse(grammar("qwen_web_xml", tools=tools), list(text))
    kept = parse(grammar("qwen_web_xml", tools=tools, text_after_calls="keep"), list(text))
    assert [len(named(events, ToolCall)) for events in (dropped, kept)] == [1, 1]
    assert [text_of(events) for events in (dropped, kept)] == ["", " <read></read> <rea"]
