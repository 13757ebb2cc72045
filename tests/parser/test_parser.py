"""The parser of one message: its events in order, its caps, its end, its snapshots."""

from typing import Any

import msgspec
import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, reasoning_of, text_of
from tokenmill.errors import SnapshotError
from tokenmill.events import Error, Finish, MessageStart, Part, ReasoningDelta, TextDelta, ToolCall
from tokenmill.formats import find_format
from tokenmill.formats.history import format_call
from tokenmill.limits import RAW_CHARS, Limits
from tokenmill.parser import Call, Format, Grammar, MessageParser, Options, Section
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.markers import SPACE_CHARS, marker
from tokenmill.parser.modes.text import TextMode
from tokenmill.parser.parser import UPSTREAM_CHARS
from tokenmill.parser.run.state import PIECE_BYTES

CALL = '<tool_call>{"name":"f","arguments":{"a":"bcdefghij"}}</tool_call>'


def types(events: Any) -> list[str]:
    """The events by name."""
    return [event.type for event in events]


def test_a_message_begins_and_ends() -> None:
    """`message-start` first with model and format, `finish` last, blocks opened and closed between them."""
    events = parse(grammar("hermes", model="m"), ["<think>a</think>b"])
    assert types(events) == [
        "message-start",
        *("reasoning-start", "reasoning-delta", "reasoning-end"),
        *("text-start", "text-delta", "text-end"),
        "finish",
    ]
    assert events[0] == MessageStart("m", "hermes")
    assert [event.id for event in events if event.type.endswith("-start") and event.type != "message-start"] == [
        "r0",
        "t1",
    ]


def test_start_is_sent_once() -> None:
    """Asked for or not, it comes once."""
    parser = MessageParser.of(grammar(), "identity")
    assert types(parser.start() + parser.start() + parser.feed("a")) == ["message-start", "text-start", "text-delta"]


def test_an_empty_message() -> None:
    """Nothing in, a start and an end out."""
    assert types(parse(grammar(), ["", ""])) == ["message-start", "finish"]


@pytest.mark.parametrize("chunks", [["a</think>b"], ["<", "a</think>b"]])
def test_what_the_prompt_ends_with_is_read_with_the_first_character(chunks: list[str]) -> None:
    """Empty chunks may come before, and the character may be one that a marker begins with."""
    own = msgspec.structs.replace(find_format("think"), prompt="<think>")
    expected = parse(Grammar(Options(), [own], Limits()), ["".join(chunks)])
    assert types(expected)[1] == "reasoning-start"
    assert merged(parse(Grammar(Options(), [own], Limits()), ["", "", *chunks])) == merged(expected)


def test_nothing_comes_after_the_end() -> None:
    """Whatever follows the end is silent."""
    parser = MessageParser.of(grammar("hermes"), "identity")
    parser.feed("a")
    parser.finish()
    assert [parser.finish(), parser.feed("b"), parser.reasoning("c"), parser.part("k", 1), parser.fail("x")] == [[]] * 5


def test_nothing_is_held_that_need_not_be() -> None:
    """A character goes out with its chunk unless it can begin a marker; then as soon as it can't."""
    parser = MessageParser.of(grammar("hermes"), "identity")
    assert [text_of(parser.feed(chunk)) for chunk in ("a", "<", "b", "<tool", "_", "x", "<think")] == [
        *("a", "", "<b", "", "", "<tool_x", "")
    ]
    assert text_of(parser.finish()) == "<think"


@pytest.mark.parametrize("size", [1, 4, 10_000])
@pytest.mark.parametrize("most", [SPACE_CHARS, SPACE_CHARS + 1])
@pytest.mark.parametrize(
    ("format_", "before", "behind"),
    [
        ("pythonic", "[", "f(a=1)]"),
        ("pythonic", "[f(", "a=1)]"),
        ("xlam", "[", '{"name": "f", "arguments": {"a": 1}}]'),
        ("llama3_json", '{"name":', '"f", "parameters": {"a": 1}}'),
        ("hermes", "<tool_call>", '{"name": "f", "arguments": {"a": 1}}</tool_call>'),
    ],
)
def test_white_space_before_a_call_is_sure_has_a_cap(
    format_: str, before: str, behind: str, most: int, size: int
) -> None:
    """It falls on the same character however the text is cut, and a snapshot in between changes nothing."""
    text = before + " " * most + behind
    whole = merged(parse(compiled := grammar(format_), [text]))
    assert len(named(whole, ToolCall)) == (most <= SPACE_CHARS)
    parser, events = MessageParser.of(compiled, "identity"), []
    for at in range(0, len(text), size):
        events += parser.feed(text[at : at + size])
        parser = MessageParser.of_state(compiled, parser.encode_state())
    assert merged(events + parser.finish()) == whole


def test_white_space_that_changes_nothing_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an opening may have any between its tokens, no pattern sees it again for each chunk."""
    parser = MessageParser.of(grammar("pythonic"), "identity")
    parser.feed("so [ ")
    monkeypatch.setattr(TextMode, "quick", None)
    assert [parser.feed("  ") for _ in range(100)] == [[]] * 100
    monkeypatch.undo()
    assert text_of(parser.feed("1]")) == "[ " + " " * 200 + "1]"


def test_a_call_is_complete_with_its_last_character() -> None:
    """The call does not wait for its closing tag."""
    parser = MessageParser.of(grammar("hermes"), "identity")
    body, closing = CALL[: -len("</tool_call>")], "</tool_call>"
    assert "tool-call" not in types(parser.feed(body[:-1]))
    assert "tool-call" in types(parser.feed(body[-1]))
    assert parser.feed(closing) == []


def test_ids_of_calls_are_derived() -> None:
    """The same identity and index give the same id; another gives another."""
    ids = [call.id for call in parse(grammar("hermes"), [CALL + CALL]) if call.type == "tool-call"]
    again = [call.id for call in parse(grammar("hermes"), list(CALL + CALL)) if call.type == "tool-call"]
    assert ids == again
    assert len(set(ids)) == 2
    other = MessageParser.of(grammar("hermes"), "other").feed(CALL)
    assert ids[0] not in [call.id for call in named(other, ToolCall)]


def test_content_beside_the_text_comes_in_its_place() -> None:
    """Reasoning and parts of the provider close what waits: text in front of them stays in front."""
    parser = MessageParser.of(grammar("hermes"), "identity")
    events = (
        parser.feed("a<tool")
        + parser.reasoning("why")
        + parser.part("citation", {"n": 1}, "p1")
        + parser.feed("_call>b")
    )
    events += parser.fail("overloaded") + parser.finish()
    assert [event for event in events if isinstance(event, TextDelta | ReasoningDelta | Part | Error)] == [
        TextDelta("t0", "a"),
        TextDelta("t0", "<tool"),
        ReasoningDelta("r1", "why"),
        Part("citation", {"n": 1}, "p1"),
        TextDelta("t2", "_call>b"),
        Error("upstream", "overloaded"),
    ]


@pytest.mark.parametrize("format_", ["minimax_m2", "hermes", "gemma4", "harmony"])
def test_reasoning_from_the_provider_ends_what_the_prompt_opened(format_: str) -> None:
    """A server that separates the reasoning keeps what closes it to itself; all text is the answer's."""
    call = format_call(find_format(format_), "f", {"a": 1})
    function = {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}
    compiled = grammar(format_, start="reasoning", tools=[{"function": function}])
    parser = MessageParser.of(compiled, "identity")
    events = parser.reasoning("why") + parser.feed("") + parser.reasoning("!")
    parser = MessageParser.of_state(compiled, parser.encode_state())
    events += parser.feed("so" + call) + parser.finish()
    assert reasoning_of(events) == "why!"
    assert text_of(events).strip() == "so"
    assert [(each.name, each.arguments) for each in named(events, ToolCall)] == [("f", {"a": 1})]


def test_reasoning_from_the_provider_leaves_out_what_the_prompt_ended_with() -> None:
    """The tag would be opened in the text, and never closed."""
    parser = MessageParser.of(grammar("think_append"), "identity")
    events = parser.reasoning("why")
    parser = MessageParser.of_state(parser.grammar, parser.encode_state())
    assert text_of(events + parser.feed("so") + parser.finish()) == "so"


def test_reasoning_from_the_provider_changes_nothing_once_there_is_text() -> None:
    """What closes the reasoning of the text is in the text. Empty reasoning is none."""
    parser = MessageParser.of(grammar("minimax_m2"), "identity")
    events = parser.reasoning("") + parser.feed("a") + parser.reasoning("b") + parser.feed("c</think>d")
    assert (reasoning_of(events), text_of(events)) == ("abc", "d")


def test_a_failure_keeps_what_the_server_said_of_it() -> None:
    """Its status and its body, up to a bound; without them the event has neither."""
    (error,) = named(MessageParser.of(grammar("hermes"), "m").fail("slow down", 429, "x" * 99_999), Error)
    assert (error.code, error.message, error.status) == ("upstream", "slow down", 429)
    assert error.raw == "x" * RAW_CHARS
    (bare,) = named(MessageParser.of(grammar("hermes"), "m").fail("slow down"), Error)
    assert bare == Error("upstream", "slow down")


def test_what_the_provider_says_is_quoted_up_to_a_bound() -> None:
    """Its error, and its word for why it ended."""
    parser = MessageParser.of(grammar(), "m")
    (error,) = named(parser.fail("x" * (UPSTREAM_CHARS + 1)), Error)
    (finish,) = named(parser.finish("y" * (UPSTREAM_CHARS + 1), None, "z" * (UPSTREAM_CHARS + 1)), Finish)
    assert error.message == "x" * UPSTREAM_CHARS
    assert (finish.raw_reason, finish.stop_sequence) == ("y" * UPSTREAM_CHARS, "z" * UPSTREAM_CHARS)


@pytest.mark.parametrize("reason", ["cancelled", "timeout", "length", "error"])
def test_a_stop_sequence_is_said_only_where_the_model_came_to_its_end(reason: str) -> None:
    """An answer that is cancelled behind it ended for another reason."""
    parser = MessageParser.of(grammar(), "m")
    (finish,) = named(parser.finish(reason, None, "END"), Finish)
    assert finish.stop_sequence is msgspec.UNSET


def test_without_streaming_of_the_input_only_the_call_comes() -> None:
    """`stream_tool_input` off: no start, deltas or end."""
    events = parse(grammar("hermes", stream_tool_input=False), [CALL])
    assert types(events) == ["message-start", "tool-call", "finish"]


def test_reason_and_usage() -> None:
    """The raw reason is kept where it differs; usage is passed on."""
    assert parse(grammar(), [], "end_turn")[-1] == Finish("stop", "end_turn")
    assert parse(grammar("hermes"), [CALL])[-1] == Finish("tool-calls", "stop")
    parser = MessageParser.of(grammar(), "identity")
    assert parser.finish("length", {"total_tokens": 3})[-1] == Finish("length", usage={"total_tokens": 3})


@pytest.mark.parametrize(
    ("limits", "text", "out"),
    [
        (Limits(call_chars=30), "x" + CALL + "y" + CALL, "x" + CALL + "y" + CALL),
        (Limits(message_chars=5), "abcdefghij", "abcdefghij"),
        (Limits(message_chars=20), CALL + "y", CALL + "y"),
        (Limits(message_chars=4), "ab<tool", "ab<tool"),
        (Limits(calls=1), CALL + CALL + "y", CALL + "y"),
    ],
)
def test_a_cap_makes_one_error_and_the_rest_is_text(limits: Limits, text: str, out: str) -> None:
    """Parsing stops at the same character wherever the text is cut; nothing is lost."""
    compiled = grammar("hermes", limits)
    whole = merged(parse(compiled, [text]))
    assert codes_of(whole) == ["limit"]
    assert text_of(whole) == out
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole


def test_long_deltas_are_split() -> None:
    """Text, reasoning and source come in deltas of bounded size."""
    compiled = grammar("hermes", Limits(delta_chars=10), content_arguments=["*"])
    text = "t" * 25 + "<think>" + "r" * 25 + "</think>" + CALL.replace("b", "b" * 25)
    events = parse(compiled, [text])
    deltas = [event.delta for event in events if event.type.endswith("-delta")]
    assert max(len(delta) for delta in deltas) == 10
    assert merged(events) == merged(parse(compiled, list(text)))


def test_memory_follows_what_is_held() -> None:
    """What a message holds grows with an open call and falls with its end."""
    parser = MessageParser.of(grammar("hermes"), "identity")
    parser.feed("text")
    assert parser.memory == 0
    parser.feed(CALL[:40])
    assert 40 <= parser.memory <= 40 + 2 * PIECE_BYTES
    parser.feed(CALL[40:])
    assert parser.memory == 0
    parser.tool_calls([{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a'}}])
    assert parser.memory == 3 + PIECE_BYTES


def test_a_state_that_is_none() -> None:
    """Bytes that hold no state are refused."""
    with pytest.raises(SnapshotError):
        MessageParser.of_state(grammar(), b"\xc1")
    with pytest.raises(SnapshotError):
        MessageParser.of_state(
            grammar(), MessageParser.of(grammar(), "identity").encode_state().replace(b"id", b"\xff\xff")
        )


def test_several_formats_live_at_once() -> None:
    """The earliest marker wins, whichever format it belongs to."""
    formats = [
        Format(
            name=name,
            summary="",
            sample="",
            sections=(Section(marker(f"<{name}>"), marker(f"</{name}>"), (Call(marker("{"), JsonCall()),)),),
        )
        for name in ("one", "two")
    ]
    compiled = Grammar(Options(format=["one", "two"]), formats, Limits())
    text = 'a<two>{"name":"f"}</two>b<one>{"name":"g"}</one>c'
    whole = merged(parse(compiled, [text]))
    assert whole[0] == MessageStart("", ["one", "two"])
    assert [call.name for call in whole if call.type == "tool-call"] == ["f", "g"]
    assert text_of(whole) == "abc"
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole


@pytest.mark.parametrize(
    ("format_name", "chunks"),
    [
        ("hermes", ['<tool_call>{"name": "f", "arguments": {"a": "x\\', "dabcdefghij", '"}}</tool_call>']),
        ("qwen3_xml", ["<tool_call><function=f><parameter=a>x  ", "abcdefghij", "</parameter></function></tool_call>"]),
        ("pythonic", ["[f(a='x\\", "dabcdefghij", "')]"]),
    ],
)
def test_what_waited_counts_for_the_size_of_a_delta(format_name: str, chunks: list[str]) -> None:
    """A delta that starts with what the chunk before left over is split like every other."""
    tools = [{"function": {"name": "f", "parameters": {"properties": {"a": {"type": "string"}}}}}]
    compiled = grammar(format_name, Limits(delta_chars=11), tools=tools, content_arguments=["*"])
    deltas = [event.delta for event in parse(compiled, chunks) if event.type == "argument-delta"]
    assert "".join(deltas).endswith("abcdefghij")
    assert max(len(delta) for delta in deltas) <= 11


@pytest.mark.parametrize(
    ("format_name", "text"),
    [
        ("qwen3_xml", "<tool_call>\n<function=f>\n<parameter=a>\nprint('</function>\n"),
        ("minimax_m3", '§<tool_call>\n§<invoke name="f">§<b>3§</b>§<a>say §</invoke>'.replace("§", "]<]minimax[>[")),
        ("pythonic", '[f(a="print("hi")'),
    ],
)
def test_a_message_that_is_longer_than_its_cap_ends_no_call(format_name: str, text: str) -> None:
    """What would be complete if the model ended there is half a call where more of it follows."""
    for size in (len(text), len(text) + 1):
        compiled = grammar(format_name, Limits(message_chars=size), tools=[{"function": {"name": "f"}}])
        for chunks in ([f"{text}  and more"], list(f"{text}  and more")):
            events = parse(compiled, chunks)
            assert (codes_of(events), text_of(events)) == (["limit"], f"{text}  and more")


def test_two_caps_at_one_character_are_one_limit() -> None:
    """A call that hits its cap where the message hits its own stops parsing once."""
    text = '<tool_call>{"name": "f", "arguments": {"a": "'
    compiled = grammar("hermes", Limits(call_chars=len(text) - 1, message_chars=len(text)))
    events = parse(compiled, [text + "xyz"])
    assert codes_of(events) == ["limit"]
    assert text_of(events) == text + "xyz"
