"""Calls as JSON: names, ids, argument source, decoded deltas."""

from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ArgumentDelta, ToolCall, ToolInputDelta, ToolInputStart
from tokenmill.parser import Call, Format, MessageParser, Section
from tokenmill.parser.bodies import JsonArguments, JsonCall, JsonKeyed
from tokenmill.parser.bodies.json_body import certain
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Header
from tokenmill.parser.values.repair import Spelling

WITH_ID = Format(
    name="with_id",
    summary="",
    sample="",
    sections=(
        Section(marker("[CALLS]"), marker("[END]"), (Call(marker("{"), JsonCall(id=("id",))),), framing=(marker(","),)),
    ),
)
NAMED_OUTSIDE = Format(
    name="named_outside",
    summary="",
    sample="",
    sections=(
        Section(
            marker("[CALLS]"),
            marker("[END]"),
            (Call(marker("[CALL]"), JsonArguments(), Header(until=marker("[ARGS]"))),),
        ),
    ),
)


BROKEN = '<tool_call>{"name": "f", "arguments": {"a": "x}}</tool_call>'
GOOD = '<tool_call>{"name": "g", "arguments": {"b": 1}}</tool_call>'


@pytest.mark.parametrize("content_arguments", [[], ["*"]])
@pytest.mark.parametrize("broken", [BROKEN, BROKEN.replace('"a": "x', '"a: 1'), BROKEN.replace('"x', '["x')])
def test_a_string_that_does_not_end_takes_no_more_than_the_next_call_with_it(
    broken: str, content_arguments: list[str]
) -> None:
    """It runs on to the first quote of that; the calls after it and the answer come at once."""
    text = f"{broken}{GOOD}{GOOD} The answer"
    compiled = grammar("hermes", content_arguments=content_arguments)
    events = MessageParser.of(compiled, "identity").feed(text)
    assert [call.name for call in named(events, ToolCall)] == ["g"]
    assert (text_of(events), codes_of(events)) == (f"{broken}{GOOD} The answer", ["malformed-call"])
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == merged(parse(compiled, [text]))


def test_a_broken_object_in_a_list_takes_none_of_the_others_with_it() -> None:
    """Quotes that are not escaped come in pairs: the object is read to its end, so the next one is found."""
    broken = '[{"name": "f", "arguments": {"a": "say "hi" now"}}'
    events = parse(grammar("hermes"), [f'<tool_call>{broken}, {{"name": "g", "arguments": {{}}}}]</tool_call>'])
    assert [call.name for call in named(events, ToolCall)] == ["g"]
    assert (text_of(events), codes_of(events)) == (f"<tool_call>{broken}", ["malformed-call"])


def test_no_call_is_read_in_what_is_left_of_a_broken_one() -> None:
    """Without a marker that closes it, its source ends with its bracket: an object inside of it is no call."""
    text = '{"name": "f", "parameters": {"a": "say "hi" now", "o": {"name": "g", "parameters": {}}}}'
    events = parse(grammar("llama3_json"), [text])
    assert (named(events, ToolCall), text_of(events), codes_of(events)) == ([], text, ["malformed-call"])


def source_of_call(format_: Any, text: str, **options: Any) -> str:
    """All argument source that was sent."""
    return "".join(event.delta for event in named(parse(grammar(format_, **options), [text]), ToolInputDelta))


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ('<tool_call>{"name":"f","arguments": {"a" : 1.0} }</tool_call>', '{"a" : 1.0}'),
        ('<tool_call>{"arguments": {"a" : 1},"name":"f"}</tool_call>', '{"a" : 1}'),
        ('<tool_call>{"name":"f","arguments":"{\\"a\\": \\"\\\\u00e9\\"}"}</tool_call>', '{"a": "\\u00e9"}'),
        ('<tool_call>{"arguments":"{\\"a\\": 1}","name":"f"}</tool_call>', '{"a": 1}'),
        ('<tool_call>{"name":"f"}</tool_call>', ""),
    ],
)
def test_source_is_verbatim(text: str, source: str) -> None:
    """The region of the arguments as it was written; one level of quoting is undone where they are a string."""
    assert source_of_call("hermes", text) == source


@pytest.mark.parametrize(
    "text",
    [
        '[CALLS]{"name":"f","arguments":{"a":1},"id":"x7"}[END]',
        '[CALLS]{"id":"x7","name":"f","arguments":{"a":1}}[END]',
    ],
)
def test_id_on_the_wire(text: str) -> None:
    """The model's own id is used, wherever in the call it stands; the start waits for it."""
    whole = merged(parse(grammar(WITH_ID), [text]))
    assert [event.id for event in named(whole, ToolInputStart) + named(whole, ToolCall)] == ["x7", "x7"]
    for chunks in all_cuts(text):
        assert merged(parse(grammar(WITH_ID), chunks)) == whole


def test_a_missing_id_is_made() -> None:
    """Where the model forgot its id, the call gets one when it is complete."""
    events = parse(grammar(WITH_ID), ['[CALLS]{"name":"f","arguments":{"a":1}}[END]'])
    (call,) = named(events, ToolCall)
    assert call.id.startswith("call_")
    assert [event.delta for event in named(events, ToolInputDelta)] == ['{"a":1}']


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('{"name":"f","arguments":{"a":1},"name":"g"}', ["malformed-call"]),
        ('{"name":"f","name":"g","arguments":{"a":1}}', ["malformed-call"]),
        ('{"name":"f","arguments":{"a":1},"name":"f"}', []),
        ('{"name":"f","arguments":{"a":1},"arguments":{"a":1}}', ["malformed-call"]),
    ],
)
def test_a_call_with_two_names(text: str, codes: list[str]) -> None:
    """Which of them is meant can't be told, as with two values of its arguments; one that is repeated is one."""
    for chunks in ([f"<tool_call>{text}</tool_call>"], list(f"<tool_call>{text}</tool_call>")):
        events = parse(grammar("hermes"), chunks)
        assert codes_of(events) == codes
        assert [(call.name, call.arguments) for call in named(events, ToolCall)] == ([] if codes else [("f", {"a": 1})])


def test_arguments_alone_behind_a_header() -> None:
    """The name stands in front of the object."""
    text = '[CALLS][CALL]f[ARGS]{"a": [1, 2]}\n[CALL] g [ARGS]{}[END]x'
    events = parse(grammar(NAMED_OUTSIDE), [text])
    assert [(call.name, call.arguments) for call in named(events, ToolCall)] == [("f", {"a": [1, 2]}), ("g", {})]
    assert text_of(events) == "x"


def test_a_marker_in_the_middle_of_json_breaks_the_call() -> None:
    """The section's closing outside of a string ends the call; its neighbour is not touched."""
    events = parse(grammar(NAMED_OUTSIDE), ['[CALLS][CALL]f[ARGS]{"a": [END][CALLS][CALL]g[ARGS]{}[END]'])
    assert codes_of(events) == ["malformed-call"]
    assert [call.name for call in named(events, ToolCall)] == ["g"]


CONTENT = (
    '<tool_call>{"name":"w","arguments":{"path":"p",'
    '"content":"a\\n\\ud83d\\ude00\\\\u12 \\u00e9\\"","n":1}}</tool_call>'
)
DECODED = 'a\n😀\\u12 é"'


def test_decoded_deltas_of_the_arguments_asked_for() -> None:
    """Only what is asked for is decoded, joined it is the final value, and no cut changes it."""
    compiled = grammar("hermes", content_arguments=["w.content"])
    events = parse(compiled, [CONTENT])
    assert {event.argument for event in named(events, ArgumentDelta)} == {"content"}
    assert "".join(event.delta for event in named(events, ArgumentDelta)) == DECODED
    assert named(events, ToolCall)[0].arguments["content"] == DECODED
    for chunks in all_cuts(CONTENT):
        assert merged(parse(compiled, chunks)) == merged(events)


def test_decoded_deltas_come_as_the_text_grows() -> None:
    """A character is sent as soon as it is certain: an escape when it is whole, a pair with its second half."""
    parser = MessageParser.of(grammar("hermes", content_arguments=["*"]), "identity")
    parser.feed('<tool_call>{"name":"w","arguments":{"a":"')
    chunks = ["x", "\\", "n", "\\ud83d", "\\ude", "00", "y"]
    deltas = ["".join(event.delta for event in named(parser.feed(chunk), ArgumentDelta)) for chunk in chunks]
    assert deltas == ["x", "", "\n", "", "", "😀", "y"]


def test_deltas_may_wait_for_a_size() -> None:
    """`min_delta_chars` holds decoded text back; the end sends what is left."""
    compiled = grammar("hermes", content_arguments=["*"], min_delta_chars=4)
    text = '<tool_call>{"name":"w","arguments":{"a":"abcdefghij"}}</tool_call>'
    assert [event.delta for event in named(parse(compiled, list(text)), ArgumentDelta)] == ["abcd", "efgh", "ij"]


def test_arguments_in_front_of_the_name_are_sent_at_the_end() -> None:
    """Decoded deltas that could not be sent in time come in one piece."""
    compiled = grammar("hermes", content_arguments=["*"])
    events = parse(compiled, ['<tool_call>{"arguments":{"a":"x\\ny"},"name":"w"}</tool_call>'])
    assert [(event.argument, event.delta) for event in named(events, ArgumentDelta)] == [("a", "x\ny")]


def test_repaired_calls_are_marked() -> None:
    """Source that is not valid JSON but was read says so."""
    events = parse(grammar("hermes"), ['<tool_call>{"name":"f","arguments":{"a":"x\ny"}}</tool_call>'])
    assert [call.repaired for call in named(events, ToolCall)] == [True]


def test_arguments_come_once() -> None:
    """Which of two values is meant can't be told."""
    text = '<tool_call>{"name":"f","arguments":{"a":1},"parameters":{"a":2}}</tool_call>'
    assert codes_of(parse(grammar("hermes"), [text])) == ["malformed-call"]


@pytest.mark.parametrize(
    "arguments",
    ["{'a': 'x'}", '{a: "x"}', '{"a": "x",}', '{"a": "x" /* } */}', '{// it\'s\n"a": "x"}', "{'a': \"x\", }"],
)
def test_relaxed_arguments(arguments: str) -> None:
    """They are read as meant and marked; their source and decoded text are sent as it stands, at every cut."""
    compiled = grammar("hermes", content_arguments=["*"])
    text = f'<tool_call>{{"name":"f","arguments":{arguments}}}</tool_call>'
    whole = merged(parse(compiled, [text]))
    assert [(call.arguments, call.repaired) for call in named(whole, ToolCall)] == [({"a": "x"}, True)]
    assert [event for event in whole if isinstance(event, tuple)] == [
        (("argument", "a"), "x"),
        (("source", ""), arguments),
    ]
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole


@pytest.mark.parametrize("raw", ["\\d\\n", "it\\'s", "\\u12\\t", 'x\\"y'])
def test_decoded_deltas_are_the_value_whatever_the_escapes(raw: str) -> None:
    """An escape that is none is read alike in a part of a string and in the whole."""
    compiled = grammar("hermes", content_arguments=["*"])
    text = f'<tool_call>{{"name":"f","arguments":{{"a":"{raw}"}}}}</tool_call>'
    for chunks in all_cuts(text):
        events = parse(compiled, chunks)
        (call,) = named(events, ToolCall)
        assert "".join(event.delta for event in named(events, ArgumentDelta)) == call.arguments["a"]


KEYED = Format(
    name="keyed",
    summary="",
    sample="",
    sections=(Section(marker("[CALLS]"), marker("[END]"), (Call(marker("{"), JsonKeyed()),), framing=(marker(","),)),),
)


def test_the_key_names_the_tool() -> None:
    """Its value is the arguments, sent verbatim; inner keys name nobody."""
    text = '[CALLS]{ "f" : {"a": {"b": [1]}} }, {"g": {}}[END]'
    whole = merged(parse(grammar(KEYED), [text]))
    assert [(call.name, call.arguments) for call in named(whole, ToolCall)] == [("f", {"a": {"b": [1]}}), ("g", {})]
    sources = [event.delta for event in named(parse(grammar(KEYED), [text]), ToolInputDelta)]
    assert sources == ['{"a": {"b": [1]}}', "{}"]
    for chunks in all_cuts(text):
        assert merged(parse(grammar(KEYED), chunks)) == whole


def test_decoded_deltas() -> None:
    """String arguments are decoded as they grow, as in other calls."""
    compiled = grammar(KEYED, content_arguments=["f.a"])
    text = '[CALLS]{"f": {"a": "x\\ny", "b": "z"}}[END]'
    for chunks in all_cuts(text):
        events = parse(compiled, chunks)
        assert "".join(event.delta for event in named(events, ArgumentDelta)) == "x\ny"


@pytest.mark.parametrize(
    "call",
    ['{"f": {}: {"g": {}}}', "{}", '{"f": 1}', '{"f": {}, "g": {}}', '{"f": null}', '{"": {}}', '{"f": {"a": }}'],
)
def test_what_is_no_call(call: str) -> None:
    """One key, and an object behind it."""
    events = parse(grammar(KEYED), [f"[CALLS]{call}[END]"])
    assert named(events, ToolCall) == []
    assert codes_of(events) == ["malformed-call"]


@pytest.mark.parametrize("key", ["args", "input"])
def test_arguments_under_another_key_break_the_call(key: str) -> None:
    """It would be run without any. Without arguments it is a call; and beside its own a further key means nothing."""
    for value, codes in (('{"a":1}', ["malformed-call"]), ("null", [])):
        text = f'<tool_call>{{"name":"f","{key}":{value}}}</tool_call>'
        events = parse(grammar("hermes"), [text])
        assert (codes_of(events), len(named(events, ToolCall))) == (codes, 1 - len(codes))
    text = f'<tool_call>{{"name":"f","arguments":{{"b":2}},"{key}":{{"a":1}}}}</tool_call>'
    assert [call.arguments for call in named(parse(grammar("hermes"), [text]), ToolCall)] == [{"b": 2}]


@pytest.mark.parametrize("name", ["hermes", "tool_call_json", "json_mix"])
def test_arguments_that_stand_elsewhere_break_the_call(name: str) -> None:
    """A parameter of the tool in the call itself, or an object under any key; what is neither means nothing."""
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
    compiled = grammar(name, tools=[{"type": "function", "function": tool}])
    for behind in ('"city": "P"', '"params": {"city": "P"}', '"Arguments": {"a": 1}'):
        events = parse(compiled, [f'<tool_call>{{"name": "f", {behind}}}</tool_call>'])
        assert (codes_of(events), named(events, ToolCall)) == (["malformed-call"], [])
    for behind in ('"type": "function"', '"params": {}', '"arguments": {}, "city": "P"'):
        events = parse(compiled, [f'<tool_call>{{"name": "f", {behind}}}</tool_call>'])
        assert [call.arguments for call in named(events, ToolCall)] == [{}]


@pytest.mark.parametrize(
    ("raw", "whole"),
    [
        ("plain", "plain"),
        ("a\\", "a"),
        ("a\\n", "a\\n"),
        ("a\\\\", "a\\\\"),
        ("a\\\\\\", "a\\\\"),
        ("\\u00e", ""),
        ("\\u00e9", "\\u00e9"),
        ("\\u00zz", "\\u00zz"),
        ("\\ud83d", ""),
        ("\\ud83d\\", ""),
        ("\\ud83d\\ude0", ""),
        ("\\ud83d\\ude00", "\\ud83d\\ude00"),
        ("\\ud83dx", "\\ud83dx"),
        ("\\ud83d\\n", "\\ud83d\\n"),
        ("\\ud83d\\u", ""),
        ("\\ud83d\\u1", "\\ud83d"),
        ("\\ud83d\\u00", "\\ud83d"),
        ("\\ud83d\\ud83d", "\\ud83d"),
        ("\\ude00", "\\ude00"),
        ("\\\\ud83d", "\\\\ud83d"),
    ],
)
def test_whole_escapes(raw: str, whole: str) -> None:
    """Half an escape and half a surrogate pair wait for the rest; whatever can't become one does not."""
    assert raw[: certain(raw)] == raw[: certain(raw, Spelling.PYTHON)] == whole


@pytest.mark.parametrize(
    ("raw", "whole"),
    [
        ("a\\x", "a"),
        ("\\x1", ""),
        ("\\x1b[", "\\x1b["),
        ("\\xa ", "\\xa "),
        ("\\U0001f60", ""),
        ("\\U0001f600", "\\U0001f600"),
        ("\\U0001z", "\\U0001z"),
        ("\\ud83d\\U0000", "\\ud83d"),
        ("\\\\x1", "\\\\x1"),
    ],
)
def test_whole_escapes_of_python(raw: str, whole: str) -> None:
    """Those that only Python has wait, too; in JSON they are none."""
    assert raw[: certain(raw, Spelling.PYTHON)] == whole
    assert raw[: certain(raw)] == raw
