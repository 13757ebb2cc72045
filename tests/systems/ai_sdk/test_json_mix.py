"""What json_mix has of its own; its cases are run by the conformance suite."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.costs import Text, growth_problem
from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of, traced
from tokenmill.errors import BadOpen
from tokenmill.events import ArgumentDelta, ToolCall, ToolInputDelta, ToolInputStart
from tokenmill.formats import compile_grammar
from tokenmill.limits import JSON_DEPTH, NAME_CHARS, Limits
from tokenmill.parser import MessageParser, read_options
from tokenmill.parser.bodies.json_scan import Token
from tokenmill.parser.markers import Scanner
from tokenmill.parser.run.run import Span
from tokenmill.parser.run.state import JsonState
from tokenmill.systems.ai_sdk.json_mix import TaggedJsonState, WordScan, is_word, read_unescaped


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("{a: b//c}", True),
        ("{a: {x: b/c, y: [d//e]}}", True),
        ("{a: $/}", True),
        ("{a: 1// }\n}", True),
        ("{a: 1// }", False),
        ("{a: {x: 1/* }} */}}", True),
        ("{a: {x: 1 // }}", False),
        ("{a: 'b'// }", False),
    ],
)
def test_a_slash_in_a_word_begins_no_comment(text: str, ends: bool) -> None:
    """Behind a number, a string or white space it does."""
    state, scan, position, token = TaggedJsonState(), WordScan(1, Scanner([])), 0, Token.KEY
    while token not in (Token.MORE, Token.BAD):
        position, token = scan.step(state, text, position)
        if token == Token.END and not state.stack:
            break
    assert (token == Token.END) is ends


def test_the_word_may_have_begun_in_another_buffer() -> None:
    """The state knows its last character."""
    assert is_word(TaggedJsonState(before="a"), "/", 0)
    assert not is_word(TaggedJsonState(before="1"), "/", 0)
    assert not is_word(JsonState(), "/", 0)
    assert is_word(JsonState(), "_/", 1)


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
    parser = MessageParser.of(grammar("json_mix", content_arguments=["*"]), "i")
    events = parser.feed('<tool_call>{"name":"note","arguments":{"text":"He')
    assert [event.name for event in named(events, ToolInputStart)] == ["note"]
    assert [event.delta for event in named(events, ToolInputDelta)] == ['{"text":"He']
    assert [event.delta for event in named(events, ArgumentDelta)] == ["He"]
    assert [event.delta for event in parser.feed("llo") if isinstance(event, ArgumentDelta)] == ["llo"]


def test_text_passes_and_a_tag_is_held_exactly() -> None:
    """Only what can still become the opening tag waits."""
    parser = MessageParser.of(grammar("json_mix"), "i")
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


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"start_tag": "<call>"}, '<call>{"name":"f"}</tool_call>'),
        ({"end_tag": "</call>"}, '<tool_call>{"name":"f"}</call>'),
        ({"start_tag": "```call\n", "end_tag": "```"}, '```call\n{"name":"f"}\n```'),
        ({"start_tag": "«", "end_tag": "»"}, '«{"name":"f"}»'),
    ],
)
def test_tags_are_options(options: dict[str, str], text: str) -> None:
    """Either or both; others are text then."""
    events = parse(compile_grammar(read_options({"format": "json_mix", **options})), ["a", *text, "b"])
    assert [call.name for call in named(events, ToolCall)] == ["f"]
    assert text_of(events) == "ab"


@pytest.mark.parametrize("option", ["start_tag", "end_tag"])
def test_an_empty_tag_is_refused(option: str) -> None:
    """It would be found everywhere."""
    with pytest.raises(BadOpen, match=option):
        compile_grammar(read_options({"format": "json_mix", option: ""}))


def test_what_the_tool_may_change_or_refuse_does_not_grow() -> None:
    """Only text that will be in the arguments as it stands is sent before the call is complete."""
    properties = {"a": {"type": "string"}, "n": {"type": "integer"}, "e": {"enum": ["one two"]}}
    tools = [{"function": {"name": "f", "parameters": {"type": "object", "properties": properties}}}]
    text = '<tool_call>{"name":"f","arguments":{"a":"x","n":"7","e":"onetwo","z":"y"}}</tool_call>'
    events = parse(grammar("json_mix", tools=tools, content_arguments=["*"]), list(text))
    (call,) = named(events, ToolCall)
    grown = [(event.argument, event.delta) for event in named(events, ArgumentDelta)]
    assert grown[0] == ("a", "x")
    assert dict(grown) == {key: value for key, value in call.arguments.items() if isinstance(value, str)}
    assert call.arguments["n"] == 7


def test_what_the_format_is_not() -> None:
    """Bare JSON, tags of results and a closing tag alone are text."""
    text = '{"name":"f","arguments":{}} <tool_response>{}</tool_response> </tool_call>'
    events = parse(grammar("json_mix"), [text])
    assert (text_of(events), codes_of(events)) == (text, [])


# Quotes that are not escaped.


def call(inner: str) -> str:
    """A call with this between the brackets of its arguments."""
    return f'{{"name": "f", "arguments": {{{inner}}}}}'


@pytest.mark.parametrize(
    ("inner", "arguments"),
    [
        ('"a": "say "hi" now"', {"a": 'say "hi" now'}),
        ('"a": "x "y"", "b": "z"', {"a": 'x "y"', "b": "z"}),
        ('"a": ""y" x", "n": 1.5, "t": true, "z": null', {"a": '"y" x', "n": 1.5, "t": True, "z": None}),
        ('"o": {"k": [1, "}"]}, "a": "is "}" it"', {"o": {"k": [1, "}"]}, "a": 'is "}" it'}),
        ('"a": "x \\"y\\" "z" \\n\\$ \\\\"', {"a": 'x "y" "z" \n$ \\'}),
        ('"a": "first", "a": "sec"ond"', {"a": 'sec"ond'}),
        ('"a": "b\nc "d""', {"a": 'b\nc "d"'}),
    ],
)
def test_one_reading_is_left(inner: str, arguments: dict[str, Any]) -> None:
    """A string ends where a key or the end follows."""
    assert read_unescaped(call(inner)) == {"name": "f", "arguments": arguments}


def test_the_name_may_come_last() -> None:
    """And may look like anything."""
    text = '{"arguments": {"a": "x "y" z"}, "name": "f \\"g\\""}'
    assert read_unescaped(text) == {"name": 'f "g"', "arguments": {"a": 'x "y" z'}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{name: "f", "arguments": {"a": "x "y" z"}}',
        '{"name": "f", "arguments": [1]}',
        call('"a": "x ,"b": y"'),
        call('"a": "x "y" z", "b": ' + "[" * 127 + "]" * 127),
        call('"a": "x'),
        call('"a": 1 2'),
        call('"a" 1'),
        call("a: 1"),
        call('"a": {"b": "x "y" z"}'),
        call('"a": ' + "[" * 5000),
    ],
)
def test_others_are_refused(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match=r"."):
        read_unescaped(text)


@given(st.dictionaries(st.text(min_size=1), st.text() | st.integers() | st.lists(st.text())))
def test_valid_json_is_read_as_what_it_is(arguments: dict[str, Any]) -> None:
    """Unless a text in it looks like a key."""
    text = json.dumps({"name": "f", "arguments": arguments})
    assert read_unescaped(text)["arguments"] == arguments


@pytest.mark.parametrize("piece", ['"', '",', '\\"', '", "', '","a":', " ", "}"])
def test_the_effort_is_linear(piece: str) -> None:
    """Each character is looked at a bounded number of times."""
    assert growth_problem(_refused, Text(call('"a": "'), piece, piece, mixed=False, rest="\\")) is None


def _refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_unescaped(text)
