"""What autobyteus_xml has of its own; its cases are run by the conformance suite.

A tool's elements are its source: sent as they come, up to the closing tag outside of raw sections.
"""

import random
from typing import Any

import pytest

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import Error, ToolCall, ToolInputDelta, ToolInputStart
from tokenmill.formats import compile_grammar
from tokenmill.limits import JSON_DEPTH
from tokenmill.parser import MessageParser, Options
from tokenmill.parser.values.schema import NO_SHAPE, Shape
from tokenmill.systems.autobyteus import autobyteus_xml
from tokenmill.systems.autobyteus.autobyteus_xml import arguments_of


def test_a_tag_is_held_until_it_is_one_or_none() -> None:
    """Prose that begins like a tag is given up at the first character that no tag has there."""
    parser = MessageParser.of(grammar("autobyteus_xml"), "identity")
    chunks = ("a <to", "ol is", " not", "= x")
    assert [text_of(parser.feed(chunk)) for chunk in chunks] == ["a ", "", "", "<tool is not= x"]


@pytest.mark.parametrize("text", ["<toolbox ", "<tools", "<write_files ", "<run_bashed>", "< tool", "<tool>"])
def test_what_is_no_tag_is_not_held(text: str) -> None:
    """The character behind the tag's name tells."""
    parser = MessageParser.of(grammar("autobyteus_xml"), "identity")
    assert text_of(parser.feed(f"{text}.")) == f"{text}."


def test_the_opening_says_what_it_is() -> None:
    """Kind and attributes as written: what clients show of a call that has only begun."""
    text = (
        '<write_file path="/a"></write_file><TOOL name="WRITE_FILE"><x/></tool>'
        '<run_bash at="1">l</run_bash><tool name="F"/>'
    )
    starts = named(parse(grammar("autobyteus_xml"), [text]), ToolInputStart)
    assert [(start.name, start.attributes) for start in starts] == [
        ("write_file", {"type": "write_file", "path": "/a"}),
        ("write_file", {"type": "write_file", "tool_name": "WRITE_FILE"}),
        ("run_bash", {"type": "run_bash"}),
        ("F", {"type": "tool_call", "tool_name": "F"}),
    ]


def test_it_lives_beside_other_formats() -> None:
    """The earliest marker wins, whichever format's it is."""
    text = '<tool_call>{"name": "g", "arguments": {}}</tool_call><tool name="f"></tool>'
    for formats in (["hermes", "autobyteus_xml"], ["autobyteus_xml", "hermes"]):
        calls = named(parse(compile_grammar(Options(format=formats)), [text]), ToolCall)
        assert [call.name for call in calls] == ["g", "f"]


SCHEMA: dict[str, Any] = {
    "properties": {
        "s": {"type": "string"},
        "n": {"type": "number"},
        "l": {"type": "array", "items": {"type": "integer"}},
        "o": {"type": "object", "properties": {"b": {"type": "boolean"}}},
    }
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", {}),
        ("<ARGUMENTS>\n <a>1</a>\n</Arguments>", {"a": "1"}),
        ('<arg name="arguments"><b>2</b></arg>', {"arguments": {"b": "2"}}),
        ('<arg  name = "a b" x>1</arg>', {"a b": "1"}),
        ("<Path>/a</PATH>", {"Path": "/a"}),
        ("<a/><b />", {"a": "", "b": ""}),
        ("<a>x<!-- <b> -->y</a>", {"a": "xy"}),
        ("<a> <![CDATA[ <x> ]]> </a>", {"a": "<x>"}),
        ("<l><item>1</item><item><item>2</item></item><item/></l>", {"l": ["1", ["2"], ""]}),
        ("<o>text<k>1</k></o>", {"o": "text<k>1</k>"}),
        ("<a>if (a<b && c>d) &amp;&amp; <i></a>", {"a": "if (a<b && c>d) && <i>"}),
        ("<a>x</b></a>", {"a": "x</b>"}),
        ("<a><b><k>1</k></a>", {"a": "<b><k>1</k>"}),
    ],
)
def test_without_a_schema(source: str, expected: dict[str, Any]) -> None:
    """Values are text, objects and lists."""
    assert arguments_of(source, NO_SHAPE) == (expected, False)


@pytest.mark.parametrize(
    ("source", "expected", "repaired"),
    [
        ("<s> 1 </s><n> 1 </n>", {"s": "1", "n": 1}, False),
        ("<s>a <b>c</b> &lt;</s>", {"s": "a <b>c</b> &lt;"}, False),
        ("<l><x>1</x><y>2</y></l>", {"l": [1, 2]}, False),
        ("<l>[1, 2,]</l>", {"l": [1, 2]}, True),
        ("<o><b>true</b><c>true</c></o>", {"o": {"b": True, "c": "true"}}, False),
    ],
)
def test_with_a_schema(source: str, expected: dict[str, Any], *, repaired: bool) -> None:
    """Values have the types that the tool asks for, all the way down."""
    assert arguments_of(source, Shape(SCHEMA, SCHEMA)) == (expected, repaired)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("<a>x", "<a> is not closed"),
        ("<a><b></b>", "<a> is not"),
        ("<a>" * (JSON_DEPTH + 1), "too deep"),
        ("only text", "text between"),
        ("<a>x</a>y</a>", "text between"),
        ("<a>x<a>y</a>", "<a> is not closed"),
        ("<arguments><a>x<a>y</a></arguments>", "text between"),
        ("<arguments><a>x</arguments>y</a></arguments>", "more than <arguments>"),
        ("<a>1</a><arguments><b>2</b></arguments>", "more than <arguments>"),
        ("<l><item>1</item>]</item></l>", "text between"),
        ("<o><b>true</b></b></o>", "text between"),
    ],
)
def test_broken(source: str, problem: str) -> None:
    """What is not closed, nested without end, or beside what it may be a part of, is no argument."""
    with pytest.raises(ValueError, match=problem):
        arguments_of(source, Shape(SCHEMA, SCHEMA))


PIECES = (
    *("<s>", "</s>", "<p>", "</p>", "<p>x</p>", "<br/>", '<arg name="s">', "</arg>", "<arguments>", "</arguments>"),
    *("<n>1</n>", "<S>", "</s >", "< s>", "<sx>", "<item>", "</item>", "a < b", " "),
    *("<!-- ", " -->", "<![CDATA[", "]]>"),
)


def _read(source: str, shape: Shape) -> tuple[dict[str, Any], bool] | None:
    """The arguments; None of a source that is broken."""
    try:
        return arguments_of(source, shape)
    except ValueError:
        return None


@pytest.mark.exhaustive
def test_elements_in_a_text_need_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an argument is its source, its end is looked for instead, and is where reading all of it would find it."""
    dice = random.Random(7)
    inner = ["".join(dice.choices(PIECES, k=dice.randrange(1, 12))) for _ in range(20_000)]
    frames = (
        "{}",
        "<s>{}</s>",
        '<arguments><arg name="s">{}</arg></arguments>',
        "<arguments><u> a {}</u><n>2</n></arguments>",
        "<arguments><n>1</n>{}<l/></arguments>",
    )
    sources = [dice.choice(frames).format(text) for text in inner]
    named_so = {"properties": {**SCHEMA["properties"], "arguments": {"type": "string"}}}
    shapes = [dice.choice((Shape(SCHEMA, SCHEMA), Shape(named_so, named_so), NO_SHAPE)) for _ in sources]
    ends: list[int] = []
    plain_end = autobyteus_xml._plain_end

    def noted(stack: list[autobyteus_xml._Element], source: str, position: int) -> int:
        ends.append(plain_end(stack, source, position))
        return ends[-1]

    monkeypatch.setattr(autobyteus_xml, "_plain_end", noted)
    quickly = [*map(_read, sources, shapes)]
    monkeypatch.setattr(autobyteus_xml, "_plain_end", lambda *_: -1)
    assert quickly == [*map(_read, sources, shapes)]
    assert sum(end >= 0 for end in ends) > 1_000
    assert -1 in ends
    assert sum(arguments is not None for arguments in quickly) > 1_000


def test_elements_are_passed_on() -> None:
    """As they stand, without the tag around them."""
    parser = MessageParser.of(grammar("autobyteus_xml"), "identity")
    parser.feed('<tool name="f">')
    sent = [
        [event.delta for event in named(parser.feed(text), ToolInputDelta)]
        for text in ("<s", ">x", "</s></", "Tool", " >")
    ]
    assert sent == [["<s"], [">x"], ["</s>"], [], []]


def test_the_closing_tag_may_stand_in_a_raw_section() -> None:
    """There it is text."""
    text = '<tool name="f"><s><![CDATA[</tool>]]></s></tool>'
    assert [call.arguments for call in named(parse(grammar("autobyteus_xml"), list(text)), ToolCall)] == [
        {"s": "</tool>"}
    ]


def test_a_raw_section_that_does_not_end() -> None:
    """The call does not end, either."""
    (error,) = named(parse(grammar("autobyteus_xml"), ['<tool name="f"><s><![CDATA[</s></tool>']), Error)
    assert error.code == "unfinished-call"
