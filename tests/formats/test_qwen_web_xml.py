"""What qwen_web_xml has of its own; its cases are run by the conformance suite."""

from typing import Any

import pytest

from tests.support.parsing import grammar, named, parse, text_of
from tokenmill.events import TextDelta, ToolCall
from tokenmill.limits import NAME_CHARS
from tokenmill.parser import Parser


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
    parser = Parser.of(grammar("qwen_web_xml", tools=[tool("read"), tool("real")]), "identity")
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
