"""What morph_xml has of its own; its cases are run by the conformance suite."""

from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ArgumentDelta, ToolCall
from tokenmill.limits import NAME_CHARS
from tokenmill.parser import MessageParser
from tokenmill.systems.ai_sdk.morph_xml import TAG_CHARS

PROPERTIES = {
    "text": {"type": "string"},
    "maybe": {"type": ["string", "null"]},
    "n": {"type": "number"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "step": {"type": "object", "properties": {"step": {"type": "string"}}},
}
TOOLS: list[Any] = [
    {"function": {"name": "note", "parameters": {"type": "object", "properties": PROPERTIES}}},
    {"function": {"name": "free", "parameters": {"type": "object"}}},
    {"function": {"name": "never", "parameters": False}},
]


def read(text: str) -> tuple[list[Any], str, list[str]]:
    """Arguments of the calls, text and errors of an answer."""
    events = parse(grammar("morph_xml", tools=TOOLS), [text])
    return [call.arguments for call in named(events, ToolCall)], text_of(events), codes_of(events)


@pytest.mark.parametrize(
    "text",
    [
        '<note a<note><text class="x > y">a <b/> &lt;&#65;& <![CDATA[</text>]]> <text>c</text></text></note> b',
        "<note>x <!-- </note> --><tags>a</tags>\n<tags>b</tags></x></ note >",
        "<note><text>see <note> or <note>x</note></text><n>1</n></note><free/><note />",
        "<note><maybe>null</maybe></note><note><maybe>nul</maybe><text>a</note>",
        "<note><step><step>a</step></step></note><free><a>1</a><a>2</a><b><c/></b></free>",
        "<note><text>a</text><text/></note><note>x</note><never></never><free>{'a': 1}</free><note><te",
    ],
)
def test_cuts_change_nothing(text: str) -> None:
    """P2, with all deltas on."""
    compiled = grammar("morph_xml", tools=TOOLS, content_arguments=["*"])
    whole = merged(parse(compiled, [text]))
    assert all(merged(parse(compiled, chunks)) == whole for chunks in all_cuts(text))


@pytest.mark.parametrize(
    ("inner", "arguments"),
    [
        ("<text> a </text>", {"text": " a "}),
        ("<text>null</text><maybe>null</maybe>", {"text": "null", "maybe": "null"}),
        ("<step><step>a</step></step>", {"step": {"step": "a"}}),
        ("<n>1</n></n></x>", {"n": 1}),
        ("<tags>a</tags> </tags>x</y><n>1</n>", {"tags": ["a"], "n": 1}),
        ("<text><note>a</note></text>", {"text": "<note>a</note>"}),
        ("<text>a</text junk></text>", {"text": "a</text junk>"}),
    ],
)
def test_values(inner: str, arguments: Any) -> None:
    """Where they begin and end."""
    assert read(f"<note>{inner}</note>") == ([arguments], "", [])


def test_nothing_in_a_raw_section_is_a_tag() -> None:
    """One that does not end takes the closing tag of the call with it."""
    text = "<note><text><![CDATA[</note>"
    assert read(text) == ([], text, ["unfinished-call"])


def test_without_a_schema_values_are_text() -> None:
    """Without white space at the sides; what repeats is a list."""
    assert read("<free><a> 1 </a><b>true</b><b>x</b></free>")[0] == [{"a": "1", "b": ["true", "x"]}]


@pytest.mark.parametrize(
    "text", ["<note>words</note>", "<note><text>a</text><text>b</text></note>", "<never></never>", "<note>{a</note>"]
)
def test_what_is_broken_comes_out_as_text(text: str) -> None:
    """With one error."""
    assert read(text) == ([], text, ["malformed-call"])


@pytest.mark.parametrize(
    "inner",
    [
        "<text>a</text>b</text>",
        "<text>a</text></text>",
        "<text>a</text><n>1</n></text>",
        "<text>a</text>b<n>1</n>c</text>",
        "<maybe>a</maybe> </maybe><n>1</n>",
        "<tags>a</tags>b</tags>",
        "<tags>a</tags>b<tags>c</tags>",
        "<step><step>a</step>b</step></step>",
        "<tags><item>a</item>b</item></tags>",
        "<text>a<text>b</text><n>1</n>",
        "<text>a</text>b<!-- c --></text>",
    ],
)
def test_a_closing_in_a_value_breaks_the_call(inner: str) -> None:
    """It is never the call of another value, however it is cut."""
    text = f"<note>{inner}</note>"
    compiled = grammar("morph_xml", tools=TOOLS)
    for chunks in ([text], *all_cuts(text)):
        assert codes_of(events := parse(compiled, chunks)) == ["malformed-call"]
        assert (named(events, ToolCall), text_of(events)) == ([], text)


def test_text_grows_as_it_arrives() -> None:
    """With entities as characters; what may be a tag or an entity waits, nothing else."""
    parser = MessageParser.of(grammar("morph_xml", tools=TOOLS, content_arguments=["note.text"]), "i")
    parser.feed("<note><text>")
    grown = [
        "".join(event.delta for event in parser.feed(piece) if isinstance(event, ArgumentDelta))
        for piece in ("a < b", " &l", "t; <te", "st> </tex", "t>")
    ]
    assert grown == ["a < b", " ", "< ", "<test> ", ""]


def test_only_the_exact_tags_of_tools_are_held() -> None:
    """Text in angle brackets passes at once."""
    parser = MessageParser.of(grammar("morph_xml", tools=TOOLS), "i")
    assert text_of(parser.feed("a <no")) == "a "
    assert text_of(parser.feed("n> <callback> <note x")) == "<non> <callback> <note x"


def test_a_tag_that_never_ends_is_none() -> None:
    """What is held is bounded."""
    parser = MessageParser.of(grammar("morph_xml", tools=TOOLS, content_arguments=["*"]), "i")
    parser.feed("<note><text>")
    held = "<text " + "x" * TAG_CHARS
    assert "".join(e.delta for e in parser.feed(held) if isinstance(e, ArgumentDelta)) == held
    name = "n" * (NAME_CHARS + 1)
    assert read(f"<free><{name}>1</{name}></free>")[2] == ["malformed-call"]


def calls(names: list[str], text: str) -> tuple[list[str], str]:
    """Names of the calls that are found, and the text around them."""
    events = parse(grammar("morph_xml", tools=[{"function": {"name": name}} for name in names]), list(text))
    return [call.name for call in named(events, ToolCall)], text_of(events)


def test_the_earliest_tag_of_a_tool_wins() -> None:
    """Exactly the name, also where one begins with another or has characters of patterns."""
    text = "<get_all></get_all><get></get><a.b/><aXb/> <get_a>"
    assert calls(["get", "get_all", "a.b"], text) == (["get_all", "get", "a.b"], "<aXb/> <get_a>")


@pytest.mark.parametrize("name", ["", "a b", "a>b", "a<b", "n" * (NAME_CHARS + 1)])
def test_a_name_that_can_be_no_tag_is_none(name: str) -> None:
    """Other tools are still found."""
    assert calls([name, "ok"], f"<{name}></{name}><ok/>") == (["ok"], f"<{name}></{name}>")


@pytest.mark.slow
def test_long_names_and_many_tools() -> None:
    """As long and as many as are allowed."""
    names = [f"{'n' * (NAME_CHARS - 3)}{number:03}" for number in range(100)]
    assert calls(names, f"<{names[7]}/>") == ([names[7]], "")
