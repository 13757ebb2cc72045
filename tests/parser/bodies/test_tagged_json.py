"""Relaxed JSON between two tags: followed as it arrives, judged when its closing tag is there."""

from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of, traced
from tokenmill.events import ArgumentDelta, ToolCall, ToolInputDelta, ToolInputStart
from tokenmill.limits import JSON_DEPTH, NAME_CHARS, Limits
from tokenmill.parser import Parser
from tokenmill.parser.run.run import Span

TOOL = {
    "function": {
        "name": "note",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "number"}}},
    }
}
REFUSING = {"function": {"name": "never", "parameters": False}}


def tagged(body: str) -> str:
    """A call in the usual tags."""
    return f"<tool_call>{body}</tool_call>"


@pytest.mark.parametrize(
    "text",
    [
        tagged('{"name":"note","arguments":{"text":"a \\"</tool_call>\\\\","n":"2"}}'),
        tagged("{name:note,arguments:{text:a//b, /* </tool_call> */ n:1// '\n}}"),
        tagged('{"name":"note","arguments":{"text":"say "hi" now"}}'),
        tagged('[{"name":"note","arguments":{}},{"name":"g","arguments":{"x":"</tool_call>"}}]') + "x",
        tagged('{"name":"note","arguments":{}}} </b>') + tagged("it's"),
        '<tool_call>{"name":"note","arguments":{}}\n<tool_call>{"name":"g","arguments":{}} <tool_call>{',
        tagged('{"name":"note","arguments":{"text":1},"arguments":"{\\"text\\":2}"}'),
        tagged('{"arguments":{"text":"x"},"name":"note"}'),
        tagged('{"name":5,"arguments":{}}') + tagged('{"a":[}') + tagged("/*"),
    ],
)
@pytest.mark.parametrize("tools", [[], [TOOL]], ids=["any", "declared"])
def test_cuts_change_nothing(text: str, tools: list[Any]) -> None:
    """P2, with all deltas on."""
    compiled = grammar("json_mix", tools=tools, content_arguments=["*"])
    whole = merged(parse(compiled, [text]))
    assert all(merged(parse(compiled, chunks)) == whole for chunks in all_cuts(text))


def test_an_object_is_followed_as_it_arrives() -> None:
    """Its name, its source and its texts are sent before it ends."""
    parser = Parser.of(grammar("json_mix", content_arguments=["*"]), "i")
    events = parser.feed('<tool_call>{"name":"note","arguments":{"text":"He')
    assert [event.name for event in named(events, ToolInputStart)] == ["note"]
    assert [event.delta for event in named(events, ToolInputDelta)] == ['{"text":"He']
    assert [event.delta for event in named(events, ArgumentDelta)] == ["He"]
    assert [event.delta for event in parser.feed("llo") if isinstance(event, ArgumentDelta)] == ["llo"]


def test_text_passes_and_a_tag_is_held_exactly() -> None:
    """Only what can still become the opening tag waits."""
    parser = Parser.of(grammar("json_mix"), "i")
    assert text_of(parser.feed("a <tool")) == "a "
    assert text_of(parser.feed("box> <")) == "<toolbox> "
    assert text_of(parser.feed("<")) == "<"


def test_a_call_of_a_list_has_its_own_id_and_all_source_is_one_span() -> None:
    """The calls come when the list is complete."""
    text = tagged('[{"name":"f","arguments":{}},{"name":"g","arguments":{}}]')
    events = parse(traced("json_mix"), [text])
    assert len({call.id for call in named(events, ToolCall)}) == 2
    assert "".join(event.source for event in events if isinstance(event, Span)) == text


def test_a_list_keeps_to_the_policies() -> None:
    """Unknown tools, and no more calls than allowed: nothing of it then."""
    text = tagged('[{"name":"note","arguments":{}},{"name":"g","arguments":{}}]')
    unknown = parse(grammar("json_mix", tools=[TOOL], unknown_tool="text"), [text])
    assert (named(unknown, ToolCall), text_of(unknown), codes_of(unknown)) == ([], text, [])
    many = parse(grammar("json_mix", Limits(calls=1)), [text])
    assert (named(many, ToolCall), text_of(many), codes_of(many)) == ([], text, ["limit"])


@pytest.mark.parametrize(
    "body",
    [
        '{"name":"","arguments":{}}',
        f'{{"name":"{"n" * (NAME_CHARS + 1)}","arguments":{{}}}}',
        f'{{"name":"f","arguments":{{"a":{"[" * JSON_DEPTH}{"]" * JSON_DEPTH}}}}}',
        f'{{"name":"f","arguments":"{{\\"a\\":{"[" * 3000}{"]" * 3000}}}"}}',
        '{"name":"f","arguments":"5"}',
        '{"name":"never","arguments":{}}',
        "[]",
        "[1]",
        "5",
        "",
    ],
)
def test_what_is_no_call_comes_out_as_text(body: str) -> None:
    """With one error."""
    events = parse(grammar("json_mix", tools=[REFUSING], unknown_tool="call"), ["a" + tagged(body)])
    assert (text_of(events), codes_of(events), named(events, ToolCall)) == ("a" + tagged(body), ["malformed-call"], [])


def test_a_repaired_call_says_so() -> None:
    """And one that was not does not."""
    for body, repaired in (
        ('{"name":"note","arguments":{"text":"x","n":1}}', False),
        ('{"name":"note","arguments":{"text":"x","n":"1"}}', True),
        ("{name:note}", True),
        ('{"name":"note"}}', True),
        ('{"name":"note","arguments":{"text":"a "b" c"}}', True),
    ):
        (call,) = named(parse(grammar("json_mix", tools=[TOOL]), [tagged(body)]), ToolCall)
        assert call.repaired is repaired, body
