"""Segments: what each kind starts with, holds and ends with, in order, at every cut, whatever fails."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.answered import ERROR, SHOWN, answered, results_in
from tests.support.parsing import all_cuts
from tokenmill.dialects import Envelope
from tokenmill.dialects.json_text import PIECE_CHARS
from tokenmill.events import Error, Event, Finish, MessageStart, Part, ReasoningDelta, Request, ToolCall
from tokenmill.formats import compile_grammar
from tokenmill.parser import Grammar, MessageParser, Options, read_options
from tokenmill.systems.autobyteus.segments import SEGMENTS, CallSegment, SegmentsState, begin, content, end, start


def test_the_shapes() -> None:
    """The kind stands in the start only; without metadata the payload is empty."""
    state, out = SegmentsState(), list[bytes]()
    start(state, "c1", "write_file", {"path": "/a"}, out)
    content("c1", "x", out)
    end(Envelope("c", "m", 0, 0), "c1", {"path": "/a"}, out)
    assert [json.loads(payload) for payload in out] == [
        {
            "type": "SEGMENT_START",
            "segment_id": "c1",
            "segment_type": "write_file",
            "payload": {"metadata": {"path": "/a"}},
        },
        {"type": "SEGMENT_CONTENT", "segment_id": "c1", "payload": {"delta": "x"}},
        {"type": "SEGMENT_END", "segment_id": "c1", "payload": {}},
    ]


def test_ids_count_starts() -> None:
    """Those of calls, too, which have ids of their own."""
    state, out = SegmentsState(), list[bytes]()
    envelope = Envelope("c", "m", 0, 0, MessageStart("", "plain", Request(id_prefix="p:")))
    start(state, "c1", "tool_call", {}, out)
    assert begin(state, envelope, "text", {}, out) == "p:seg_2"


def test_content_is_cut_to_what_a_record_holds() -> None:
    """And none is sent for nothing."""
    out = list[bytes]()
    content("c1", "", out)
    assert out == []
    content("c1", "x" * (PIECE_CHARS + 1), out)
    assert [len(json.loads(payload)["payload"]["delta"]) for payload in out] == [PIECE_CHARS, 1]


def test_what_waits_counts() -> None:
    """Content in front of its path, and the arguments of a provider's calls until the end."""
    state = SegmentsState()
    empty = state.memory
    state.calls["a"] = CallSegment("a", "write_file", "write_file", "{}", waiting=["x" * 500, "漢" * 500])
    state.calls["b"] = CallSegment("b", "tool_call", "f", "{}", provider=True, arguments="x" * 1_000)
    assert (empty, 3_500 <= state.memory <= 4_500) == (0, True)


FORMATS = ["autobyteus_xml", "autobyteus_json", "autobyteus_sentinel"]
FILE = 'Hi <tool name="write_file"><arguments><path>/a</path><arg name="content">x\ny</arg></arguments></tool> bye'


def grammar_of(**options: Any) -> Grammar:
    """A grammar under which arguments come as they grow, as the partition sets it for this dialect."""
    return compile_grammar(read_options({"format": FORMATS, "content_arguments": ["*"], **options}))


def rendered(events: Sequence[Event], options: Options) -> list[dict[str, Any]]:
    """The payloads of events, with the state encoded and decoded behind each."""
    state, envelope, out = SEGMENTS.state_type(), Envelope("c", "m", 0, 0, compile_grammar(options).message_start), []
    for seq, event in enumerate(events):
        out += [json.loads(payload) for payload in SEGMENTS.encode(state, envelope, event, seq, 0)]
        state = msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=SEGMENTS.state_type)
    return out


def segments(*chunks: str | Mapping[str, Any], reason: str = "stop", **options: Any) -> list[dict[str, Any]]:
    """The payloads of a stream: text, or tool-call deltas of a provider."""
    grammar = grammar_of(**options)
    parser = MessageParser.of(grammar, "identity")
    events: list[Event] = []
    for chunk in chunks:
        events += parser.feed(chunk) if isinstance(chunk, str) else parser.tool_calls([chunk])
    return rendered([*events, *parser.finish(reason)], grammar.options)


def told(payloads: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Each segment in the order of its start: kind, metadata, content, metadata of its end; errors by their code."""
    found: dict[str, list[Any]] = {}
    for payload in payloads:
        about, body = payload.get("segment_id", ""), payload["payload"]
        if payload["type"] == "SEGMENT_START":
            assert about not in found
            found[about] = [payload["segment_type"], body.get("metadata"), "", "open"]
        elif payload["type"] == "SEGMENT_CONTENT":
            assert found[about][3] == "open"
            found[about][2] += body["delta"]
        elif payload["type"] == "SEGMENT_END":
            assert found[about][3] == "open"
            found[about][3] = body.get("metadata")
    assert all(segment[3] != "open" for segment in found.values())
    errors = [payload["payload"]["code"] for payload in payloads if payload["type"] == "ERROR"]
    return [tuple(segment) for segment in found.values()] + errors


def text(content: str) -> tuple[str, None, str, None]:
    """A segment of text."""
    return ("text", None, content, None)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Hello", [text("Hello")]),
        ("", []),
        (FILE, [text("Hi "), ("write_file", {"tool_name": "write_file", "path": "/a"}, "x\ny", None), text(" bye")]),
        ("<write_file path='/a'>x</write_file>", [("write_file", {"path": "/a"}, "x", None)]),
        ("<run_bash note='1'>ls</run_bash>", [("run_bash", None, "ls", None)]),
        (
            '<tool name="run_bash"><command>ls</command></tool>',
            [("run_bash", {"tool_name": "run_bash"}, "ls", None)],
        ),
        ('<tool name="F"><a>1</a></tool>', [("tool_call", {"tool_name": "F"}, "<a>1</a>", None)]),
        (
            '{"tool": {"function": "f"}}{"tool": {"function": "g"}}',
            [("tool_call", None, f'{{"tool": {{"function": "{name}"}}}}', None) for name in "fg"],
        ),
        (
            '[[SEG_START {"type":"tool","tool_name":"f","arguments":{"a":1}}]][[SEG_END]]',
            [("tool_call", {"tool_name": "f", "arguments": {"a": 1}}, "", None)],
        ),
        ('[[SEG_START {"type":"run_bash"}]]ls[[SEG_END]]', [("run_bash", None, "ls", None)]),
        (
            '<tool name="write_file"><arg name="content">x</arg><path>/a</path></tool>',
            [("write_file", {"tool_name": "write_file", "path": "/a"}, "x", None)],
        ),
    ],
)
def test_segments_of_text(source: str, expected: list[Any]) -> None:
    """Kinds, metadata and content are the same at every cut."""
    assert told(segments(source)) == expected
    for chunks in all_cuts(source):
        assert told(segments(*chunks)) == expected, chunks


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            '<tool name="write_file"><arg name="content">x</arg></tool> y',
            [("write_file", {"tool_name": "write_file"}, "x", None), text(" y"), "malformed-call"],
        ),
        ("<run_bash>ls</run", [("run_bash", None, "ls</run", None), "unfinished-call"]),
        ('<tool name="f"><a>1', [("tool_call", {"tool_name": "f"}, "<a>1", None), "unfinished-call"]),
        ('<tool name="write_file"><path>/a', [text('<tool name="write_file"><path>/a'), "unfinished-call"]),
        (
            '<tool name="f"><a>1</tool> y',
            [("tool_call", {"tool_name": "f"}, "<a>1", None), text(" y"), "malformed-call"],
        ),
        ('a {"tool": {"fun', [text("a "), ("tool_call", None, '{"tool": {"fun', None), "unfinished-call"]),
        ('{"tool": 1} b', [("tool_call", None, '{"tool": 1}', None), text(" b"), "malformed-call"]),
        ('[[SEG_START {"type":"ru', [text('[[SEG_START {"type":"ru'), "unfinished-call"]),
    ],
)
def test_segments_that_fail(source: str, expected: list[Any]) -> None:
    """A segment that was shown ends; its source does not come again as text. One that was not is text."""
    assert told(segments(source)) == expected
    assert told(segments(*source)) == expected


def test_ids() -> None:
    """A call's is the one that it has everywhere; the others count the starts. The prefix goes before both."""
    payloads = segments("a<run_bash>l</run_bash>b", id_prefix="turn_1:")
    starts = [payload["segment_id"] for payload in payloads if payload["type"] == "SEGMENT_START"]
    parser = MessageParser.of(grammar_of(id_prefix="turn_1:"), "identity")
    (call,) = (event for event in parser.feed("a<run_bash>l</run_bash>b") if isinstance(event, ToolCall))
    assert starts == ["turn_1:seg_1", call.id, "turn_1:seg_3"]
    assert call.id.startswith("turn_1:call_")


def test_metadata_may_be_said_again_at_the_end() -> None:
    """For clients that look at ends only."""
    (end,) = (
        payload
        for payload in segments(FILE, segment_end_metadata=True)[:-3]
        if payload["type"] == "SEGMENT_END"
        if payload["payload"]
    )
    assert end["payload"] == {"metadata": {"tool_name": "write_file", "path": "/a"}}


def nested(depth: int) -> Any:
    """A list in a list, and so on."""
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def delta(index: int, arguments: str = "", **more: Any) -> dict[str, Any]:
    """A tool-call delta of a provider: `id` and `name` begin a call."""
    function = {"arguments": arguments, **({"name": more["name"]} if "name" in more else {})}
    return {"index": index, "function": function, **({"id": more["id"]} if "id" in more else {})}


def test_calls_of_a_provider() -> None:
    """They come beside the text, which goes on; all ends come at the end, text first, then calls as they began."""
    payloads = segments(
        "A",
        delta(0, id="c1", name="f"),
        delta(1, "{}", id="c2", name="g"),
        delta(0, '{"x":1}'),
        "B",
        segment_end_metadata=True,
    )
    assert told(payloads) == [
        text("AB"),
        ("tool_call", {"tool_name": "f"}, '{"x":1}', {"tool_name": "f", "arguments": {"x": 1}}),
        ("tool_call", {"tool_name": "g"}, "{}", {"tool_name": "g", "arguments": {}}),
    ]
    assert [payload["segment_id"] for payload in payloads if payload["type"] == "SEGMENT_END"] == ["seg_1", "c1", "c2"]


@pytest.mark.parametrize(
    ("arguments", "metadata", "content", "end"),
    [
        ('{"path":"/a.py","content":"x = 1\\n\\u0041"}', {"path": "/a.py"}, "x = 1\nA", {"path": "/a.py"}),
        ('{"content":"x","path":"/a","o":{"path":"/b"}}', {"path": "/a"}, "x", {"path": "/a"}),
        ('{"content":"abc"}', {}, "abc", None),
    ],
)
def test_files_of_a_provider(
    arguments: str, metadata: dict[str, Any], content: str, end: dict[str, Any] | None
) -> None:
    """The content is decoded as it grows; the start waits for the path."""
    expected = [("write_file", {"tool_name": "write_file", **metadata}, content, end)]
    for cut in range(len(arguments) + 1):
        call = (delta(0, id="c1", name="write_file"), delta(0, arguments[:cut]), delta(0, arguments[cut:]))
        assert told(segments(*call, segment_end_metadata=True)) == expected


ODD_VALUES = {
    "an integer of more than 64 bits": (10**23, 10**23),
    "nested as deep as may be": (nested(126), nested(126)),
    "half a surrogate pair": (["\ud800"], ["\ufffd"]),
}


@pytest.mark.parametrize("odd", ODD_VALUES)
def test_what_a_call_says_waits_for_the_end_whatever_it_is(odd: str) -> None:
    """A snapshot can hold it meanwhile."""
    value, read = ODD_VALUES[odd]
    call = (delta(0, json.dumps({"x": value}), id="c1", name="f"), "more text")
    metadata = {"tool_name": "f", "arguments": {"x": read}}
    assert told(segments(*call, segment_end_metadata=True))[0][3] == metadata


def test_what_a_header_says_waits_for_the_end_whatever_it_is() -> None:
    """Likewise."""
    header = {"type": "tool", "tool_name": "f", "arguments": {"x": 10**23}}
    source = f"[[SEG_START {json.dumps(header)}]]x[[SEG_END]]"
    metadata = {"tool_name": "f", "arguments": {"x": 10**23}}
    assert told(segments(source, segment_end_metadata=True)) == [("tool_call", metadata, "x", metadata)]


def test_a_provider_call_that_is_cut_off() -> None:
    """It ends with the others, without arguments, and there is an error."""
    payloads = segments(delta(0, '{"x":', id="c1", name="f"), segment_end_metadata=True)
    assert told(payloads) == [("tool_call", {"tool_name": "f"}, '{"x":', {"tool_name": "f"}), "unfinished-call"]


def test_other_formats() -> None:
    """A call's kind is that of its tool; which tools are files or commands may be said."""
    call = '<tool_call>{"name": "fs.write", "arguments": {"path": "/a", "content": "x\\ny"}}</tool_call>'
    (segment,) = told(segments(call, format="hermes", segment_tools={"write_file": "fs.write"}))
    assert segment == ("write_file", {"tool_name": "fs.write", "path": "/a"}, "x\ny", None)


def test_calls_that_are_not_streamed() -> None:
    """They come whole."""
    call = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    (segment,) = told(segments(call, format="hermes", stream_tool_input=False))
    assert segment == ("tool_call", {"tool_name": "f"}, '{"a":1}', None)
    assert told(segments(FILE, stream_tool_input=False))[1][2] == "x\ny"


def test_reasoning_and_parts() -> None:
    """Reasoning is one segment that ends last; media are segments of their own, other parts are not for this client."""
    events = [ReasoningDelta("r0", "why"), Part("image", {"url": "x"}), Part("signature", "s"), Finish("stop")]
    payloads = rendered(events, Options())
    assert told(payloads) == [
        ("reasoning", None, "why", None),
        ("media", {"kind": "image", "value": {"url": "x"}}, "", None),
    ]
    assert payloads[-1]["segment_id"] == "seg_1"


def test_a_message_whose_state_is_lost() -> None:
    """There is an error and nothing to end."""
    envelope = Envelope("c", "m", 0, 0)
    (payload,) = SEGMENTS.encode(None, envelope, Error("state-lost", "gone"), None, 0)
    assert json.loads(payload) == {"type": "ERROR", "payload": {"code": "state-lost", "message": "gone"}}
    assert SEGMENTS.encode(None, envelope, Finish("error"), None, 0) == []


PIECES = [
    *('<tool name="f">', '<tool name="write_file">', "</tool>", '<arg name="path">', '<arg name="content">', "</arg>"),
    *("<write_file path='/a'>", "</write_file>", "<run_bash>", "</run_bash>", "__START_CONTENT__", "__END_CONTENT__"),
    *('{"tool": {"function": "f", "parameters": {', "}}}", "}", "[", '"', "\n", " ", "/a", "x", "<b>", "</b>", "<"),
    *('[[SEG_START {"type":"run_bash"}]]', '[[SEG_START {"type":"text"}]]', "[[SEG_END]]", "[[SEG_START "),
    *('[[SEG_START {"type":"tool"}]]', '[[SEG_START {"type":"tool","tool_name":"f"}]]'),
]


@given(st.lists(st.sampled_from(PIECES), max_size=20), st.sets(st.integers(0, 200), max_size=6))
def test_every_stream_is_well_formed(pieces: list[str], cuts: set[int]) -> None:
    """Whatever a model writes: each segment starts once and ends once, and cuts change nothing but deltas."""
    source = "".join(pieces)
    at = sorted(cut for cut in cuts if cut < len(source))
    chunks = [source[begin:end] for begin, end in zip([0, *at], [*at, len(source)], strict=True)]
    assert told(segments(*chunks)) == told(segments(source)) == told(segments(*source))


@pytest.mark.parametrize("late", [False, True])
def test_what_a_tool_answered_has_the_id_of_its_segment(late: bool) -> None:
    """Wherever it comes."""
    payloads, (good, bad) = answered("segments", late=late)
    who = {"tool_name": "clock", "turn_id": "message"}
    assert results_in(payloads, "TOOL_EXECUTION_SUCCEEDED", "TOOL_EXECUTION_FAILED") == [
        {
            "type": "TOOL_EXECUTION_SUCCEEDED",
            "payload": {"invocation_id": good, **who, "result": SHOWN},
            "segment_id": good,
        },
        {
            "type": "TOOL_EXECUTION_FAILED",
            "payload": {"invocation_id": bad, **who, "tool_name": "fail", "error": ERROR},
            "segment_id": bad,
        },
    ]
    assert {good, bad} <= {each["segment_id"] for each in results_in(payloads, "SEGMENT_START")}
