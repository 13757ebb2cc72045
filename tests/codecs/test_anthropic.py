"""Codec `anthropic`: reading the events of a Messages stream."""

from typing import Any

import msgspec
import pytest

from tests.support.provided import provided
from tokenmill.codecs.anthropic import ANTHROPIC, BLOCKS, INPUT_CHARS
from tokenmill.events import Finish
from tokenmill.records import InputRecord

START = {
    "type": "message_start",
    "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 5, "output_tokens": 1}},
}
STOP = {"type": "message_stop"}
USAGE = {"input_tokens": 5, "output_tokens": 9}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(*pieces: str, index: int = 0) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def use(*pieces: str, index: int = 0, given: Any = None, kind: str = "tool_use") -> list[dict[str, Any]]:
    start = {"type": kind, "id": f"toolu_{index}", "name": "f", "input": given or {}}
    return block(index, start, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def ended(reason: str, **usage: int) -> dict[str, Any]:
    usage = usage or {"output_tokens": 9}
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}


def framed(event: dict[str, Any] | None) -> bytes | None:
    """The event as bytes of a connection."""
    return None if event is None else b"data: %b\n\n" % msgspec.json.encode(event)


def test_a_message_with_everything() -> None:
    """Thinking with its signature, text, a call, the reason and the counts of tokens."""
    thinking = [
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "thinking_delta", "thinking": "m"},
        {"type": "signature_delta", "signature": "sig"},
    ]
    done = provided(
        "anthropic",
        START,
        *block(0, {"type": "thinking", "thinking": "", "signature": ""}, *thinking),
        {"type": "ping"},
        *text("Hel", "lo", index=1),
        *use("", '{"x"', ":1}", index=2),
        ended("tool_use"),
        STOP,
    )
    assert done.messages == [("msg_1", "m")]
    assert (done.reasoning, done.text) == ("hmm", "Hello")
    assert done.parts == [("signature", "sig")]
    assert (done.calls, done.call_ids) == ([("f", {"x": 1})], ["toolu_2"])
    assert done.ends == [("tool-calls", USAGE)]


def test_a_signature_comes_inside_its_reasoning() -> None:
    """So that dialects can put it where clients look for it."""
    delta = {"type": "signature_delta", "signature": "sig"}
    done = provided("anthropic", START, *block(0, {"type": "thinking", "thinking": "hm"}, delta), *text("a", index=1))
    kinds = [event.type for event in done.events]
    assert kinds[1:5] == ["reasoning-start", "reasoning-delta", "part", "reasoning-end"]


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        (use(), [("f", {})]),
        (use(given={"x": 1}), [("f", {"x": 1})]),
        (use('{"x":2}', given={"x": 1}), [("f", {"x": 2})]),
        ([*use('{"a":1}'), *use('{"b":2}', index=1)], [("f", {"a": 1}), ("f", {"b": 2})]),
    ],
)
def test_input_of_calls(events: list[Any], calls: list[Any]) -> None:
    """In pieces, whole at the beginning, or none; pieces go before what stood at the beginning."""
    assert provided("anthropic", START, *events, ended("tool_use"), STOP).calls == calls


def test_input_that_was_cut_is_no_call() -> None:
    """The model ran out of tokens."""
    done = provided("anthropic", START, *use('{"x": "ab'), ended("max_tokens"), STOP)
    assert done.calls == []
    assert [code for code, _ in done.errors] == ["unfinished-call"]
    assert done.ends[0][0] == "length"


@pytest.mark.parametrize(
    ("start", "deltas", "parts"),
    [
        ({"type": "redacted_thinking", "data": "opaque"}, [], [("redacted_thinking", "opaque")]),
        (
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            [
                {"type": "input_json_delta", "partial_json": '{"q"'},
                {"type": "input_json_delta", "partial_json": ':"x"}'},
            ],
            [("server_tool_use", {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}})],
        ),
        (
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
            [],
            [("web_search_tool_result", {"type": "web_search_tool_result", "tool_use_id": "s", "content": []})],
        ),
        (
            {"type": "text", "text": "a"},
            [{"type": "citations_delta", "citation": {"url": "u"}}, {"type": "other_delta", "x": 1}],
            [("citation", {"url": "u"}), ("other_delta", {"type": "other_delta", "x": 1})],
        ),
    ],
    ids=lambda value: value.get("type") if isinstance(value, dict) else "",
)
def test_other_content_is_a_part(start: Any, deltas: list[Any], parts: list[Any]) -> None:
    """Whole, in its place."""
    assert provided("anthropic", START, *block(0, start, *deltas), ended("end_turn"), STOP).parts == parts


@pytest.mark.parametrize(
    "text",
    ['{"q": ', "[" * 1_000, "[" * 990 + "]" * 990, "[" * 129 + "]" * 129, '{"q": 99999999999999999999}'],
    ids=["malformed", "deep and cut", "deep", "too deep to keep", "a long integer"],
)
@pytest.mark.parametrize("stop", [True, False], ids=["stopped", "left open"])
@pytest.mark.parametrize("last", [STOP, None], ids=["message_stop", "null"])
@pytest.mark.parametrize("around", ["", "sse+"])
def test_input_that_cannot_be_kept_stays_text(text: str, stop: bool, last: Any, around: str) -> None:
    """A model wrote it: nothing of it may keep the block, the message or the partition from continuing."""
    events = [START, *use(text, kind="server_tool_use")[: None if stop else -1], last]
    done = provided(f"{around}anthropic", *(framed(event) if around else event for event in events))
    ((kind, part),) = done.parts
    assert (kind, part["input"]) == ("server_tool_use", text)
    assert (done.rejected, done.errors, len(done.ends)) == ([], [], 1)


def test_counts_are_cumulative() -> None:
    """Later ones go over earlier ones; those that come only at the beginning stay."""
    later = ended("end_turn", output_tokens=12, cache_read_input_tokens=3)
    done = provided("anthropic", START, ended("end_turn", output_tokens=7), later, STOP)
    assert done.ends == [("stop", {"input_tokens": 5, "output_tokens": 12, "cache_read_input_tokens": 3})]


@pytest.mark.parametrize(
    ("last", "end"),
    [
        ([ended("end_turn"), STOP], ("stop", USAGE)),
        ([ended("refusal"), STOP], ("content-filter", USAGE)),
        ([ended("model_context_window_exceeded"), STOP], ("length", USAGE)),
        ([b"[DONE]"], ("stop", None)),
        ([None], ("stop", None)),
        ([{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}], ("error", None)),
        ([{**START, "message": {"id": "msg_2"}}], ("stop", None)),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_ends_a_message(last: list[Any], end: tuple[str, Any]) -> None:
    """The protocol's end, and what comes in its place."""
    assert provided("anthropic", START, *text("a"), *last).ends == [end]


def test_an_error_says_what_it_is() -> None:
    """In the provider's words."""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert provided("anthropic", START, error).errors == [("upstream", "overloaded_error: Overloaded")]
    assert provided("anthropic", error).ends == [("error", None)]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("invalid_request_error", 400),
        ("authentication_error", 401),
        ("billing_error", 402),
        ("permission_error", 403),
        ("not_found_error", 404),
        ("request_too_large", 413),
        ("rate_limit_error", 429),
        ("api_error", 500),
        ("timeout_error", 504),
        ("overloaded_error", 529),
        ("novel_error", None),
        (["overloaded_error"], None),
        (None, None),
    ],
)
def test_an_error_has_the_status_of_its_type(kind: Any, status: int | None) -> None:
    """What HTTP would have said, had the head not been sent."""
    raw = msgspec.json.encode({"type": "error", "error": {"type": kind, "message": "No."}})
    _, (failed,) = ANTHROPIC.decode(b"", InputRecord("tokens", 0, 0, 0, b"c", raw))
    assert (failed.error_status, failed.end) == (status, True)


def test_an_empty_message_is_told() -> None:
    """It begins and ends."""
    done = provided("anthropic", START, ended("end_turn"), STOP)
    assert [event.type for event in done.events] == ["message-start", "finish"]


def test_records_may_be_lines_of_sse() -> None:
    """Several events in a record are read in order; comments and unknown types are ignored."""
    frames = b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1"}}\n\n: hi\n\n'
    frames += b'event: news\ndata: {"type":"news"}\n\ndata: {"type":"message_stop"}\n\n'
    done = provided("anthropic", frames)
    assert (done.messages, done.ends) == ([("msg_1", "")], [("stop", None)])


def test_without_a_start_content_is_of_the_unnamed_message() -> None:
    """Or of the one that the header names."""
    assert provided("anthropic", *text("a"), STOP).messages == [("o0-1", "")]
    assert provided("anthropic", *text("a"), STOP, headers=[("tm-message-id", b"m7")]).messages == [("m7", "")]


@pytest.mark.parametrize(
    "junk",
    [
        b"junk",
        b"{",
        b"[]",
        b"{}",
        b'{"type":1}',
        b"data: {",
        {"type": "message_start", "message": {"id": "x" * 2000}},
        b'{"type":"message_start","message":{"usage":{"n":99999999999999999999}}}',
    ],
    ids=lambda value: str(value)[:40],
)
def test_junk_is_a_dead_letter_and_changes_nothing(junk: Any) -> None:
    """The message continues after it."""
    done = provided("anthropic", START, *text("a"), junk, *text("b", index=1), STOP)
    assert done.rejected == ["undecodable"]
    assert (done.text, done.ends) == ("ab", [("stop", None)])
    assert done.messages == [("msg_1", "m")]


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "content_block_delta"},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_stop", "index": 9},
        {"type": "content_block_start", "index": -1, "content_block": None},
        {"type": "message_delta", "delta": None, "usage": None},
    ],
    ids=lambda value: str(value)[:50],
)
def test_events_that_fit_nothing_say_nothing(odd: Any) -> None:
    """Proxies leave things out."""
    done = provided("anthropic", START, odd, *text("a"), STOP)
    assert (done.text, done.calls, done.rejected, len(done.ends)) == ("a", [], [], 1)


def opened(index: int, **block: Any) -> dict[str, Any]:
    """A block begins."""
    return {"type": "content_block_start", "index": index, "content_block": block}


@pytest.mark.parametrize(
    ("events", "refused"),
    [
        ([opened(index, type="server_tool_use", input={}) for index in range(BLOCKS + 2)], 2),
        ([opened(0, type="server_tool_use", input={"q": "x" * INPUT_CHARS})], 1),
        ([ended("end_turn", **{f"count_{number}_{place}": 1 for place in range(500)}) for number in range(3)], 2),
    ],
    ids=["blocks", "start", "usage"],
)
def test_what_is_remembered_is_capped(events: list[Any], refused: int) -> None:
    """P8: too many open blocks, or counts under ever new names, are refused; the message continues."""
    done = provided("anthropic", START, *events, *text("a", index=99), STOP)
    assert done.rejected == ["undecodable"] * refused
    assert (done.text, len(done.ends)) == ("a", 1)


def test_counts_that_are_null_say_nothing() -> None:
    """They are so where they did not change."""
    counts: dict[str, Any] = {"output_tokens": 9, "input_tokens": None, "cache_read_input_tokens": None}
    last = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": counts}
    assert provided("anthropic", START, *text("a"), last, STOP).ends == [("stop", USAGE)]


def test_a_call_without_arguments_is_complete_when_the_next_block_begins() -> None:
    """In its place before that block, though the answer is cut off later."""
    done = provided(
        "anthropic", START, *use("", index=0), *text("a", index=1), *use('{"x"', index=2), ended("max_tokens"), STOP
    )
    kinds = [event.type for event in done.events]
    assert kinds.index("tool-call") < kinds.index("text-delta")
    assert done.calls == [("f", {})]
    assert [code for code, *_ in done.errors] == ["unfinished-call"]


@pytest.mark.parametrize(("reason", "calls"), [("tool_use", [("f", {})]), ("max_tokens", [])])
def test_a_call_without_arguments_that_is_the_last(reason: str, calls: list[tuple[str, Any]]) -> None:
    """Only the stop reason shows whether any were to come."""
    done = provided("anthropic", START, *use("", index=0), ended(reason), STOP)
    assert done.calls == calls
    assert [code for code, *_ in done.errors] == ([] if calls else ["unfinished-call"])


def test_a_stop_sequence_comes_with_its_text() -> None:
    """Which of those that the client asked for; the reason stays the provider's word."""
    end = ended("stop_sequence")
    end["delta"]["stop_sequence"] = "END"
    *_, finish = provided("anthropic", START, *text("a"), end, STOP).events
    assert isinstance(finish, Finish)
    assert (finish.reason, finish.raw_reason, finish.stop_sequence) == ("stop", "stop_sequence", "END")
