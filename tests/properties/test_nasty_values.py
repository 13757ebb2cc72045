"""A value may hold what looks like the format's own markup: the call comes whole, or it is broken."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.formats.test_history import CALLING
from tests.support.parsing import grammar, named, parse
from tokenmill.events import Error, ToolCall
from tokenmill.formats.history import format_call
from tokenmill.parser.spec import Format

_TOKEN = "]<]minimax[>["
LOOSE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "the case `probe: xml write_file </arg> in content` of a source system has the first closing end a file's text": (
        "autobyteus_xml",
        '<tool name="write_file"><arg name="path">/a</arg><arg name="content">a</arg>b</arg></tool>',
        {"path": "/a", "content": "a"},
    ),
    "nothing must stand behind a call in a tag of its own: its text ends at the first closing": (
        "autobyteus_xml",
        '<write_file path="/a">a</write_file>b</write_file>',
        {"path": "/a", "content": "a"},
    ),
    "the case `probe xml: unclosed inner tag` of a source system has the call's closing end a value that is open": (
        "morph_xml",
        "<tool_1><text>a</tool_1>b</text></tool_1>",
        {"text": "a"},
    ),
    "XML has two raw sections, side by side, for one text: so it writes what ends one": (
        "minicpm5_xml",
        '<function name="tool_1"><param name="text"><![CDATA[a]]]]><![CDATA[>b]]></param></function>',
        {"text": "a]]>b"},
    ),
    "vLLM's `test_malformed_element_keeps_preceding_params` leaves out a last text that nothing closes": (
        "minimax_m3",
        '§<tool_call>§<invoke name="tool_1">§<count>7§</count>§<text>a§</invoke>§</tool_call>'.replace("§", _TOKEN),
        {"count": 7},
    ),
}
"""What ends a value, or leaves it out, though it may be content: why, a call, and its arguments."""

TOOL = {
    "type": "function",
    "function": {
        "name": "tool_1",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}, "count": {"type": "integer"}}},
    },
}
MARK = "@@"
AROUND = ("{}", "a{}b", "a {} b", "a\n{}\nb", "a\n  {}\n  b", "{} b", "a {}", "a\n{}", "{0} {0}", "a\n{0}\n{0}\nb")
"""In one line, on lines of their own, indented, at the beginning, at the end, twice."""


def written(format_: Format, **arguments: Any) -> str:
    """A call as the format's models write it."""
    return format_call(format_, "tool_1", arguments)


def squeezed(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())


def values(format_: Format) -> Iterator[str]:
    """Values made of what stands around one, in pieces and as a whole."""
    head, tail = written(format_, text=MARK).split(MARK)
    between = written(format_, text=MARK, count=7).split(MARK)[1].split("7")[0]
    pieces = {piece for text in (head, tail, between) for piece in re.findall(r"<[^<>]*>|\[[^\[\]]*\]|\S+", text)}
    pieces |= {piece.replace("text", "x").replace("count", "x") for piece in pieces}
    pieces |= {head.strip(), tail[: len(tail) // 2].strip(), written(format_, text="v")}
    for piece in sorted(piece for piece in pieces if piece):
        for around in AROUND:
            yield (
                around.format(piece.replace("{", "{{").replace("}", "}}"))
                if "{0}" in around
                else around.replace("{}", piece)
            )


def is_forged(format_: Format, value: str, source: str) -> bool:
    """Whether a value has all that ends it: nobody can tell it from two values, or from a call and text behind it."""
    tail = squeezed(written(format_, text=MARK).split(MARK)[1])
    following = squeezed(written(format_, text=MARK, count=7).split(MARK)[1].split("count")[0])
    rest = squeezed(source[source.rindex(value) :]) if value in source else ""
    first = min((at for at in (rest.find(tail), rest.find(following)) if at >= 0), default=len(rest))
    return first < len(squeezed(value))


@pytest.mark.parametrize("format_", CALLING)
def test_a_call_is_whole_or_broken(format_: Any) -> None:
    """Whatever a value looks like, no call comes with other arguments than those that were written."""
    compiled = grammar(format_.name, tools=[TOOL], start="header" if format_.start == "header" else "text")
    for value in values(format_):
        for arguments in ({"text": value}, {"count": 7, "text": value}, {"text": value, "count": 7}):
            source = written(format_, **arguments)
            if is_forged(format_, value, source):
                continue
            events = parse(compiled, [source])
            calls = [event.arguments for event in named(events, ToolCall) if not event.problem]
            assert calls == [arguments] or (not calls and named(events, Error)), source


@pytest.mark.parametrize("reason", LOOSE)
def test_what_ends_a_value_all_the_same(reason: str) -> None:
    """Where another explanation is kept, it is kept on purpose."""
    name, source, arguments = LOOSE[reason]
    calls = named(parse(grammar(name, tools=[TOOL] if "tool_1" in source else []), [source]), ToolCall)
    assert [call.arguments for call in calls] == [arguments]
