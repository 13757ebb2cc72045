"""Arguments as JSON while they arrive."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.own_cases import OwnCase, own_cases
from tests.support.every import every
from tests.support.parsing import all_cuts, grammar, parse, random_cuts
from tokenmill.dialects import Envelope
from tokenmill.dialects.arguments import HELD_CHARS, GrowingArguments, whole
from tokenmill.events import AnyEvent, Error, ToolCall, ToolInputStart
from tokenmill.formats import FORMATS, compile_grammar
from tokenmill.limits import Limits
from tokenmill.parser import Call, Format, Grammar, MessageParser, Section, read_options
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.markers import marker

TYPED = Format(
    name="typed",
    summary="JSON whose values are read as the schema wants them.",
    sample="",
    sections=(Section(marker("<call>"), marker("</call>"), (Call(marker("{"), JsonCall(typed=True)),)),),
)


def pieces_of(compiled: Grammar, events: Sequence[AnyEvent]) -> Iterator[tuple[list[str], AnyEvent]]:
    """For each begun call its pieces of JSON and how it ended; the state is encoded and decoded at every event."""
    envelope = Envelope("c", "m", 0, 0, compiled.message_start)
    states: dict[str, bytes] = {}
    pieces: dict[str, list[str]] = {}
    called = {event.id for event in events if isinstance(event, ToolCall)}
    for event in events:
        call_id = getattr(event, "id", None)
        if isinstance(event, ToolInputStart):
            states[event.id] = msgspec.msgpack.encode(GrowingArguments(event.name, event.encoding == "json"))
            pieces[event.id] = []
        if call_id not in states:
            continue
        state = msgspec.msgpack.decode(states[call_id], type=GrowingArguments)
        if isinstance(event, ToolCall):
            yield [*pieces[call_id], state.rest(event.arguments)], event
        elif isinstance(event, Error) and event.id not in called:
            yield [*pieces[call_id], state.broken()], event
        elif piece := state.more(event, envelope):
            pieces[call_id].append(piece)
        states[call_id] = msgspec.msgpack.encode(state)


def check(compiled: Grammar, chunks: Sequence[str]) -> list[list[str]]:
    """Assert what the contract promises of each call; answers the pieces."""
    events, all_pieces = parse(compiled, chunks), []
    for pieces, event in pieces_of(compiled, events):
        joined = "".join(pieces)
        if isinstance(event, ToolCall):
            assert whole(json.loads(joined)) == whole(json.loads(whole(event.arguments))) or (
                json.loads(joined) == json.loads(whole(event.arguments))
            ), joined
        else:
            assert joined
            with pytest.raises(json.JSONDecodeError):
                json.loads(joined)
        all_pieces.append(pieces)
    return all_pieces


def streaming(case: OwnCase, format_name: str) -> Grammar:
    """A case's grammar with all deltas on."""
    options = {"format": format_name, "tools": case.tools, **case.open}
    return compile_grammar(read_options({**options, "stream_tool_input": True, "content_arguments": ["*"]}))


@pytest.mark.parametrize("format_name", [format_.name for format_ in FORMATS])
def test_the_pieces_are_the_arguments_in_every_format(format_name: str) -> None:
    """Whatever the encoding, coercion and repair, wherever the text is cut; a call that fails is never whole."""

    def check_case(case: OwnCase) -> None:
        compiled = streaming(case, format_name)
        for chunks in (list(case.text), [case.text], *random_cuts(case.text, 0)):
            check(compiled, chunks)

    every(own_cases(format_name), check_case, lambda case: case.name)


def hermes(arguments: str) -> str:
    """A call with this source."""
    return f'<tool_call>{{"name": "f", "arguments": {arguments}}}</tool_call>'


def tool(**properties: Any) -> list[dict[str, Any]]:
    """The tool `f` with these properties."""
    return [{"function": {"name": "f", "parameters": {"type": "object", "properties": properties}}}]


STREAMS: dict[str, Any] = {"stream_tool_input": True, "content_arguments": ["*"]}


@pytest.mark.parametrize(
    "source",
    [
        "{}",
        ' { "a" : [ ] , "b" : { } } ',
        '{"a": [1, -2.5e3, true, false, null, "x", [[]], {"k": "v"}], "b": {"c": {"d": [{}]}}}',
        r'{"a": "\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00", "\u0062": "\ud83d"}',
        r'{"a": "x", "\ude00b": 1, "\ud83d\ude00": 2, "c": "\ud83d"}',
        '{"a": "é😀\u2028", "": ""}',
        '{"a": 1, "a": [2], "b": {"c": 1, "c": 2}}',
        '{"a": 12345678901234567890123, "b": 1e400, "c": 0.1}',
        "{'a': 'x', b: True, \"c\": [1, 2,],}",
        '{"a": "line\nline", "b": 1}',
        '{"a": "x\\q", "b": 1 /* why */}',
        '{"a": {"b": "x", "c": y}, "d": "z"}',
        '{"a": 01, "b": +1, "c": .5}',
        '{"a": "x"',
        '{"a": {"b": ["x", {"c": 1',
        '"{\\"a\\": \\"x\\"}"',
        "null",
    ],
)
def test_source_that_is_json_is_passed_on_as_far_as_it_is(source: str) -> None:
    """Valid, odd, repaired and broken sources, at every cut."""
    for chunks in all_cuts(hermes(source)):
        check(grammar("hermes", **STREAMS), chunks)


def test_a_long_string_grows() -> None:
    """Text arrives as soon as it is there, in arguments of any depth."""
    text = hermes('{"a": "' + "x" * 40 + '", "b": [{"c": "' + "y" * 40 + '"}]}')
    (pieces,) = check(grammar("hermes", **STREAMS), list(text))
    assert pieces.count("x") == pieces.count("y") == 40
    assert pieces[-1] == "}"


def test_deltas_of_arguments_grow_where_the_source_is_not_json() -> None:
    """The text of each argument as it comes; what is not text comes at the end."""
    text = "<function=f>\n<parameter=a>\nxyz\n</parameter>\n<parameter=n>\n7\n</parameter>\n</function>"
    tools = tool(a={"type": "string"}, n={"type": "integer"})
    (pieces,) = check(grammar("qwen3_xml", tools=tools, **STREAMS), list(text))
    assert pieces == ['{"a":"x', "y", "z", '","n":7}']


@pytest.mark.parametrize(
    ("source", "sent"),
    [
        ('{"n": "7", "s": "x"}', ["{", '"n":7,"s":"x"}']),
        ('{"s": "x", "other": "y"}', ["{", '"s": "', "x", '"', ',"other":"y"}']),
        ('{"o": {"k": "1"}, "s": "x"}', None),
        ('{"n": 7, "s": 5}', None),
    ],
    ids=["other type", "unknown", "nested", "number for text"],
)
def test_what_the_schema_may_change_waits_for_the_end(source: str, sent: list[str] | None) -> None:
    """An argument of another type, or one that the tool does not have, may be coerced, renamed or dropped."""
    tools = tool(
        s={"type": "string"},
        n={"type": "integer"},
        o={"type": "object", "properties": {"k": {"type": "integer"}}},
    )
    compiled = grammar(TYPED, tools=tools, **STREAMS)
    text = f'<call>{{"name": "f", "arguments": {source}}}</call>'
    for chunks in all_cuts(text):
        check(compiled, chunks)
    if sent is not None:
        assert check(compiled, list(text)) == [sent]


def test_an_argument_that_comes_twice_is_said_twice() -> None:
    """The deltas were of the first, the last counts: so it does for readers of JSON."""
    text = "<function=f><parameter=a>x</parameter><parameter=a>yz</parameter></function>"
    (pieces,) = check(grammar("qwen3_xml", tools=tool(a={}), **STREAMS), [text])
    assert "".join(pieces) == '{"a":"x","a":"yz"}'


def test_a_call_that_nothing_was_sent_of_comes_whole_or_broken() -> None:
    """Without deltas `rest` is all there is, and a failed call is one open bracket."""
    state = GrowingArguments("f", json=False)
    assert state.rest({"a": 1}) == '{"a":1}'
    assert state.broken() == "{"


def test_a_call_over_the_cap_is_never_whole() -> None:
    """P8: the limit ends a call that had begun."""
    compiled = grammar("hermes", Limits(call_chars=80), **STREAMS)
    text = hermes('{"a": "' + "x" * 200 + '"}')
    for chunks in ([text], list(text)):
        assert check(compiled, chunks) == [check(compiled, chunks)[0]]


@pytest.mark.parametrize(
    "source",
    [
        '{"' + "k" * HELD_CHARS + '": "x", "b": "y"}',
        '{"a": ' + "1" * HELD_CHARS + ', "b": "y"}',
        '{"a": ' + " " * HELD_CHARS + '"x"}',
    ],
    ids=["key", "number", "space"],
)
def test_what_waits_is_bounded(source: str) -> None:
    """P8: more than a name or a number is not held; the rest comes at the end."""
    state, envelope = GrowingArguments("f", json=True), Envelope("c", "m", 0, 0)
    events = parse(grammar("hermes", **STREAMS), list(hermes(source)))
    for event in events:
        state.more(event, envelope)
        assert len(state.held) <= HELD_CHARS
    assert state.stopped
    check(grammar("hermes", **STREAMS), list(hermes(source)))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=4), values, max_size=4), st.booleans(), st.booleans(), st.data())
def test_any_arguments_survive(arguments: dict[str, Any], spaced: bool, ascii_: bool, data: st.DataObject) -> None:
    """Whatever JSON a model writes, however it is cut."""
    text = hermes(json.dumps(arguments, ensure_ascii=ascii_, separators=None if spaced else (",", ":")))
    text = text.encode(errors="replace").decode()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=8)))
    chunks = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    check(grammar("hermes", **STREAMS), chunks)


def test_calls_may_grow_side_by_side() -> None:
    """A provider's own stream interleaves its calls."""
    compiled = grammar("plain", **STREAMS)
    parser = MessageParser.of(compiled, "identity")
    deltas = [
        (0, {"name": "f", "arguments": '{"a":'}),
        (1, {"name": "g", "arguments": '{"b": "x'}),
        (0, {"arguments": ' "y'}),
        (1, {"arguments": '"}'}),
        (0, {"arguments": 'z"}'}),
    ]
    events = [
        event for index, function in deltas for event in parser.tool_calls([{"index": index, "function": function}])
    ]
    joined = {
        event.name: "".join(pieces) for pieces, event in pieces_of(compiled, events) if isinstance(event, ToolCall)
    }
    assert joined == {"f": '{"a": "yz"}', "g": '{"b": "x"}'}
