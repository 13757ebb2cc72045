"""Codec `openai_responses`: reading the events of the Responses API."""

from typing import Any

import pytest
from msgspec import UNSET, UnsetType

from tests.support.provided import Provided, provided
from tokenmill.codecs.openai_responses import OPENAI_RESPONSES, PLACES
from tokenmill.errors import Undecodable
from tokenmill.events import Error
from tokenmill.limits import RECORD_DEPTH
from tokenmill.records import InputRecord

USAGE = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}


def said(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


CREATED = said("created", response={"id": "resp_1", "model": "m", "status": "in_progress"})
COMPLETED = said("completed", response={"id": "resp_1", "status": "completed", "usage": USAGE})


def response(*events: Any, last: Any = COMPLETED) -> Provided:
    """What comes of a response with these events."""
    return provided("openai_responses", CREATED, *events, last)


def item(index: int, **fields: Any) -> dict[str, Any]:
    return {"output_index": index, "item": fields}


def call(*pieces: str, index: int = 0, whole: str = "") -> list[Any]:
    """The events of a function call."""
    fields = {"type": "function_call", "call_id": f"call_{index}", "name": "f"}
    arguments = "".join(pieces) or whole
    return [
        said("output_item.added", **item(index, **fields, arguments="")),
        *(said("function_call_arguments.delta", output_index=index, delta=piece) for piece in pieces),
        said("function_call_arguments.done", output_index=index, arguments=arguments),
        said("output_item.done", **item(index, **fields, arguments=arguments)),
    ]


def test_a_response_with_everything() -> None:
    """Reasoning, text, a call and the counts of tokens, each numbered."""
    events = [
        CREATED,
        said("in_progress", response={"id": "resp_1"}),
        said("reasoning_text.delta", output_index=0, content_index=0, delta="hm"),
        said("reasoning_text.done", output_index=0, content_index=0, text="hm"),
        said("output_text.delta", output_index=1, content_index=0, delta="Hel"),
        said("output_text.delta", output_index=1, content_index=0, delta="lo"),
        said("output_text.done", output_index=1, content_index=0, text="Hello"),
        *call('{"x"', ":1}", index=2),
        COMPLETED,
    ]
    done = provided("openai_responses", *({**event, "sequence_number": n} for n, event in enumerate(events)))
    assert done.messages == [("resp_1", "m")]
    assert (done.reasoning, done.text, done.calls, done.call_ids) == ("hm", "Hello", [("f", {"x": 1})], ["call_2"])
    assert done.ends == [("tool-calls", USAGE)]


def test_repeats_are_dropped() -> None:
    """An event whose number was seen, as after a connection was resumed."""
    deltas = [
        {**said("output_text.delta", output_index=0, delta=letter), "sequence_number": number}
        for number, letter in ((1, "a"), (2, "b"), (1, "a"), (2, "b"), (3, "c"))
    ]
    assert provided("openai_responses", {**CREATED, "sequence_number": 0}, *deltas).text == "abc"


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        (call("{}"), [("f", {})]),
        (call(whole='{"x":1}'), [("f", {"x": 1})]),
        (call(), [("f", {})]),
        ([*call('{"a":1}'), *call('{"b":2}', index=1)], [("f", {"a": 1}), ("f", {"b": 2})]),
        (
            [said("output_item.added", **item(0, type="function_call", call_id="c", name="f", arguments='{"x":1}'))],
            [("f", {"x": 1})],
        ),
    ],
)
def test_arguments_of_calls(events: list[Any], calls: list[Any]) -> None:
    """In pieces, or whole where no piece came; never twice."""
    assert response(*events).calls == calls


def test_calls_may_grow_side_by_side() -> None:
    """Their items are distinguished by index."""
    first, second = call('{"a"', ":1}"), call('{"b"', ":2}", index=1)
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    assert response(*mixed).calls == [("f", {"a": 1}), ("f", {"b": 2})]


@pytest.mark.parametrize(
    ("events", "text", "reasoning", "parts"),
    [
        ([said("output_text.done", output_index=0, content_index=0, text="a")], "a", "", []),
        (
            [
                said("output_text.delta", output_index=0, content_index=0, delta="a"),
                said("output_text.done", output_index=0, content_index=0, text="a"),
                said("output_text.done", output_index=0, content_index=1, text="b"),
            ],
            "ab",
            "",
            [],
        ),
        (
            [
                said("reasoning_summary_part.added", output_index=0, summary_index=0),
                said("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="one"),
                said("reasoning_summary_text.done", output_index=0, summary_index=0, text="one"),
                said("reasoning_summary_part.added", output_index=0, summary_index=1),
                said("reasoning_summary_text.done", output_index=0, summary_index=1, text="two"),
                said("output_item.done", **item(0, type="reasoning", encrypted_content="enc")),
            ],
            "",
            "one\n\ntwo",
            [("encrypted_content", "enc")],
        ),
        (
            [
                said("refusal.delta", output_index=0, content_index=0, delta="I "),
                said("refusal.delta", output_index=0, content_index=0, delta="can't"),
                said("refusal.done", output_index=0, content_index=0, refusal="I can't"),
            ],
            "",
            "",
            [("refusal", "I "), ("refusal", "can't")],
        ),
        (
            [
                said("web_search_call.searching", output_index=0),
                said("output_item.done", **item(0, type="web_search_call", id="ws")),
                said("output_text.annotation.added", output_index=1, annotation={"url": "u"}),
                said("custom_tool_call_input.delta", output_index=2, delta="x"),
                said("output_item.done", **item(2, type="custom_tool_call", name="py", input="x")),
            ],
            "",
            "",
            [
                ("web_search_call", {"type": "web_search_call", "id": "ws"}),
                ("annotation", {"url": "u"}),
                ("custom_tool_call", {"type": "custom_tool_call", "name": "py", "input": "x"}),
            ],
        ),
    ],
)
def test_content(events: list[Any], text: str, reasoning: str, parts: list[Any]) -> None:
    """Each once, in whatever events it comes."""
    done = response(*events)
    assert (done.text, done.reasoning, done.parts) == (text, reasoning, parts)


@pytest.mark.parametrize(
    ("last", "end", "errors"),
    [
        (COMPLETED, ("stop", USAGE), []),
        (
            said("incomplete", response={"incomplete_details": {"reason": "max_output_tokens"}}),
            ("length", None),
            [],
        ),
        (
            said("incomplete", response={"incomplete_details": {"reason": "content_filter"}}),
            ("content-filter", None),
            [],
        ),
        (said("incomplete", response={"status": "cancelled"}), ("cancelled", None), []),
        (
            said("failed", response={"error": {"code": "server_error", "message": "out of memory"}}),
            ("error", None),
            [("upstream", "out of memory")],
        ),
        ({"type": "error", "message": "no", "code": "x"}, ("error", None), [("upstream", "no")]),
        ({"type": "error", "error": {"type": "t", "message": "no"}}, ("error", None), [("upstream", "t: no")]),
        (b"[DONE]", ("stop", None), []),
        (None, ("stop", None), []),
    ],
    ids=lambda value: str(value)[:70],
)
def test_what_ends_a_response(last: Any, end: tuple[str, Any], errors: list[Any]) -> None:
    """With the reason that it gives."""
    done = response(said("output_text.delta", output_index=0, delta="a"), last=last)
    assert (done.ends, done.errors, done.text) == ([end], errors, "a")


def test_another_response_ends_the_one_before() -> None:
    """Its id is another."""
    other = said("created", response={"id": "resp_2", "model": "m"})
    done = provided("openai_responses", CREATED, CREATED, other, said("completed", response={}))
    assert [message for message, _ in done.messages] == ["resp_1", "resp_2"]
    assert len(done.ends) == 2


@pytest.mark.parametrize("junk", [b"junk", b"{", b"{}", b'{"type":null}', said("created", response={"id": "x" * 2000})])
def test_junk_is_a_dead_letter_and_changes_nothing(junk: Any) -> None:
    """The message continues after it."""
    delta = said("output_text.delta", output_index=0, delta="a")
    done = response(delta, junk, delta)
    assert (done.rejected, done.text, done.ends) == (["undecodable"], "aa", [("stop", USAGE)])


def test_records_may_be_lines_of_sse() -> None:
    """The name of the event is its type."""
    frame = b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"a"}\n\n'
    assert response(frame + frame).text == "aa"


def test_a_number_that_is_out_of_all_bounds_is_none() -> None:
    """It neither hides what follows nor stops the partition."""
    deltas = [
        {**said("output_text.delta", output_index=0, delta=letter), "sequence_number": number}
        for number, letter in ((1, "a"), (2**64, "b"), (2, "c"))
    ]
    assert provided("openai_responses", CREATED, *deltas).text == "abc"


@pytest.mark.parametrize("name", ["content_index", "summary_index"])
def test_an_index_that_is_no_number_is_none(name: str) -> None:
    """However deep it is nested."""
    for depth in (1, 200, *range(RECORD_DEPTH - 2, RECORD_DEPTH + 3), 1_000):
        index = b"[" * depth + b"]" * depth
        event = b'{"type":"response.reasoning_text.delta","%b":%b,"delta":"a"}' % (name.encode(), index)
        record = InputRecord("tokens", 0, 0, 0, b"c", event)
        try:
            _, (chunk,) = OPENAI_RESPONSES.decode(b"", record)
        except Undecodable:
            assert depth >= RECORD_DEPTH
        else:
            assert (depth < RECORD_DEPTH, chunk.reasoning) == (True, "a")


def test_a_summary_and_a_content_of_an_item_are_two_texts() -> None:
    """Deltas of one do not count for the other, whose index may be the same."""
    summary = [{"type": "summary_text", "text": "short"}]
    raw = [{"type": "reasoning_text", "text": "RAW"}]
    short = said("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="short")
    long = said("reasoning_text.delta", output_index=0, content_index=0, delta="RAW")
    ended = said("output_item.done", **item(0, type="reasoning", summary=summary, content=raw))
    assert response(short, ended).reasoning == "shortRAW"
    assert response(long, ended).reasoning == "RAWshort"
    assert response(short, long, ended).reasoning == "shortRAW"


def test_what_is_remembered_is_capped() -> None:
    """P8: deltas of places that never end are refused; the message continues."""
    deltas = [said("output_text.delta", output_index=index, delta="a") for index in range(PLACES + 1)]
    done = response(*deltas)
    assert done.rejected == ["undecodable"]
    assert (done.text, len(done.ends)) == ("a" * PLACES, 1)


def test_what_only_the_end_of_an_item_says_is_read() -> None:
    """Servers in front of others leave out what their own does not stream."""
    message = {
        "type": "message",
        "content": [{"type": "output_text", "text": "Hi"}, {"type": "refusal", "refusal": "no"}],
    }
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}], "content": [None, {"type": 5}]}
    called = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"x": 1}'}
    done = response(
        *(said("output_item.done", output_index=n, item=each) for n, each in enumerate((thought, message, called)))
    )
    assert (done.reasoning, done.text, done.parts) == ("Hm", "Hi", [("refusal", "no")])
    assert (done.calls, done.call_ids) == ([("f", {"x": 1})], ["c"])


def test_what_came_before_the_end_of_an_item_is_not_read_again() -> None:
    """Each text by its place; also where only some of the parts came."""
    parts = [{"type": "output_text", "text": "Hi"}, {"type": "output_text", "text": " you"}]
    done = response(
        said("output_text.delta", output_index=0, content_index=0, delta="Hi"),
        said("output_item.done", output_index=0, item={"type": "message", "content": parts}),
    )
    assert done.text == "Hi you"


@pytest.mark.parametrize(
    ("last", "status"),
    [
        (said("failed", response={"error": {"code": "server_error", "message": "no"}}), 500),
        (said("failed", response={"error": {"code": "rate_limit_exceeded", "message": "no"}}), 429),
        (said("failed", response={"error": {"code": "novel_error", "message": "no"}}), UNSET),
        (said("failed", response={}), UNSET),
        ({"type": "error", "message": "no", "code": "invalid_prompt"}, 400),
        ({"type": "error", "error": {"type": "server_error", "code": None, "message": "no"}}, 500),
        ({"type": "error", "error": "no"}, UNSET),
    ],
    ids=str,
)
def test_an_error_has_the_status_of_its_code(last: Any, status: int | UnsetType) -> None:
    """What HTTP would have said, had the head not been sent."""
    (failed,) = [event for event in response(last=last).events if isinstance(event, Error)]
    assert failed.status == status
