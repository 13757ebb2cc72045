"""Codec `openai`: which answer a chunk belongs to, and when an answer ends."""

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from tests.support.provided import provided
from tokenmill.codecs import Chunk, ProviderPart
from tokenmill.codecs.openai import MESSAGES_AT_ONCE, OPENAI
from tokenmill.errors import Undecodable
from tokenmill.events import Finish
from tokenmill.limits import CHOICES, KEY_BYTES
from tokenmill.records import InputRecord

END = Chunk(message_id="c1", choice=0, end=True)
FAILED = Chunk(message_id="c1", choice=0, error="overloaded", finish_reason="error", end=True)
VERDICT = {"output": {"flagged": False}}
USAGE = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}


def chunk(
    delta: Any = None, finish: str | None = None, *, answer: str | None = "c1", index: int = 0, **more: Any
) -> Any:
    """A chunk of the provider with one choice."""
    return {"id": answer, "choices": [{"index": index, "delta": delta or {}, "finish_reason": finish}], **more}


def text(content: str, **more: Any) -> Any:
    """One that brings text."""
    return chunk({"content": content}, **more)


def usage_only(answer: str | None = "c1") -> Any:
    """The chunk of usage that comes after the finish reason where it was asked for."""
    return {"id": answer, "choices": [], "usage": USAGE}


def decode(*values: Any, headers: list[tuple[str, bytes]] | None = None) -> list[list[Chunk]]:
    """The chunks of each record of a stream; what is left to remember goes to `remembered`."""
    state, answers = b"", []
    for value in values:
        raw = value if isinstance(value, bytes | None) else msgspec.json.encode(value)
        state, chunks = OPENAI.decode(state, InputRecord("tokens", 0, 0, 0, b"c", raw, headers or []))
        answers.append(list(chunks))
    remembered.append(state)
    return answers


remembered: list[bytes] = []
"""The state after each stream."""


def said(content: str, *, answer: str | None = "c1", index: int = 0, **more: Any) -> Chunk:
    """A chunk with text."""
    return Chunk(message_id=answer, choice=index, delta=content, **more)


def finished(reason: str, *, answer: str | None = "c1", index: int = 0, **more: Any) -> Chunk:
    """A chunk with a finish reason that does not end the message."""
    return Chunk(message_id=answer, choice=index, finish_reason=reason, **more)


# Frames


def test_several_events_in_one_record_are_read_in_order() -> None:
    """Producers pass on what one read of a socket gave them."""
    lines = [b"data: " + msgspec.json.encode(each) + b"\n\n" for each in (text("a"), chunk({}, "stop"))]
    assert decode(b"".join(lines) + b"data: [DONE]\n\n") == [[said("a"), finished("stop"), END]]


@pytest.mark.parametrize(
    "junk",
    [
        b"oops",
        b"{",
        b"[]",
        b"{}",
        b"data: {oops}",
        b"<html>502 Bad Gateway</html>",
        b"\xff\xfe",
        {"object": "chat.completion.chunk"},
        {"choices": {}},
        {"choices": "x"},
        {"choices": [1]},
        {"choices": [{"index": -1, "delta": {}}]},
        {"choices": [{"index": 1.5, "delta": {}}]},
        {"choices": [{"index": True, "delta": {}}]},
        {"choices": [{"index": 0, "delta": []}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": "f"}}]},
        {"choices": [], "usage": [1]},
        {"choices": [], "id": "x" * (KEY_BYTES + 1), "usage": {}},
        b'{"choices":[],"usage":{"n":99999999999999999999}}',
        b'{"choices":[{"delta":{"refusal":[99999999999999999999]}}]}',
    ],
    ids=lambda junk: str(junk)[:40],
)
def test_junk_is_undecodable_and_changes_nothing(junk: Any) -> None:
    """Nothing else is raised; the stream continues after it."""
    before, _ = OPENAI.decode(b"", InputRecord("t", 0, 0, 0, b"c", msgspec.json.encode(text("a"))))
    raw = junk if isinstance(junk, bytes) else msgspec.json.encode(junk)
    with pytest.raises(Undecodable):
        OPENAI.decode(before, InputRecord("t", 0, 0, 0, b"c", raw))
    assert OPENAI.decode(before, InputRecord("t", 0, 0, 0, b"c", b"[DONE]")) == (b"", [END])


def test_there_is_an_end_to_the_choices_of_an_answer() -> None:
    """They are remembered, so they are counted."""
    state = b""
    for index in range(CHOICES):
        state, _ = OPENAI.decode(state, InputRecord("t", 0, 0, 0, b"c", msgspec.json.encode(text("a", index=index))))
    with pytest.raises(Undecodable):
        OPENAI.decode(state, InputRecord("t", 0, 0, 0, b"c", msgspec.json.encode(text("a", index=CHOICES))))


# When an answer ends

STREAM = [text("a"), chunk({}, "stop")]
ENDS: list[tuple[str, list[Any], list[Chunk]]] = [
    ("the end of the protocol", [b"data: [DONE]"], [END]),
    ("usage after the finish reason", [usage_only()], [Chunk(message_id="c1", choice=0, usage=USAGE), END]),
    ("usage without the id", [usage_only(None)], [Chunk(message_id="c1", choice=0, usage=USAGE), END]),
    ("null", [None], [END]),
    (
        "another answer",
        [text("b", answer="c2"), None],
        [END, said("b", answer="c2"), Chunk(message_id="c2", choice=0, end=True)],
    ),
    (
        "an error",
        [{"error": {"message": "boom", "type": "x"}}],
        [Chunk(message_id="c1", choice=0, error="boom", finish_reason="error", end=True)],
    ),
]


@pytest.mark.parametrize(("ending", "expected"), [each[1:] for each in ENDS], ids=[each[0] for each in ENDS])
def test_what_ends_an_answer(ending: list[Any], expected: list[Chunk]) -> None:
    """Its finish reason alone does not, because usage may follow; nothing is remembered of what has ended."""
    answers = decode(*STREAM, *ending)
    assert answers[:2] == [[said("a")], [finished("stop")]]
    assert [each for chunks in answers[2:] for each in chunks] == expected
    assert remembered[-1] == b""


def test_the_end_of_the_protocol_ends_what_has_no_finish_reason_too() -> None:
    """An interrupted stream has none."""
    assert decode(text("a"), b"[DONE]") == [[said("a")], [END]]


def test_after_the_end_nothing_ends_again() -> None:
    """The end of the protocol comes after the usage that has ended the answer."""
    assert decode(*STREAM, usage_only(), b"[DONE]", None)[3:] == [[], []]


def test_usage_on_every_chunk_goes_along_and_the_last_is_the_last() -> None:
    """It ends nothing as long as there is a choice in the chunk."""
    answers = decode(text("a", usage={"total_tokens": 1}), chunk({}, "stop", usage={"total_tokens": 2}), usage_only())
    assert [each.usage for chunks in answers for each in chunks] == [
        {"total_tokens": 1},
        {"total_tokens": 2},
        USAGE,
        None,
    ]
    assert answers[2][-1] == END


def test_usage_that_is_null_or_empty_is_none() -> None:
    """Where usage is asked for it is null on every chunk but the last."""
    answers = decode(text("a", usage=None), text("b", usage={}), {"id": "c1", "choices": [], "usage": None})
    assert answers == [[said("a")], [said("b")], []]


def test_usage_before_the_last_choice_is_finished_ends_nothing() -> None:
    """With several choices it is that of all, and each has it."""
    answers = decode(text("a"), text("b", index=1), chunk({}, "stop"), usage_only(), chunk({}, "length", index=1), None)
    assert [each.usage for each in answers[3]] == [USAGE, USAGE]
    assert [each.end for each in answers[3]] == [UNSET, UNSET]
    assert answers[5] == [END, Chunk(message_id="c1", choice=1, end=True)]


def test_answers_that_share_a_stream_do_not_cut_each_other_off() -> None:
    """Each has its own end, in whatever order they come."""
    answers = decode(
        text("a"),
        text("x", answer="c2"),
        text("b"),
        chunk({}, "stop"),
        b"[DONE]",
        chunk({}, "stop", answer="c2"),
        b"[DONE]",
    )
    ended = [[each.message_id for each in chunks if each.end is True] for chunks in answers]
    assert ended == [[], [], [], [], ["c1"], [], ["c2"]]


def test_of_answers_without_an_end_only_so_many_are_remembered() -> None:
    """Those end when they are idle."""
    answers = decode(*[text("a", answer=f"c{number}") for number in range(MESSAGES_AT_ONCE + 2)], None)
    assert [each.message_id for each in answers[-1]] == [f"c{number}" for number in range(2, MESSAGES_AT_ONCE + 2)]


def test_an_answer_that_brings_nothing_is_opened_by_its_finish_reason() -> None:
    """Clients that wait for it learn that it is over, and why."""
    answers = decode(
        chunk({"role": "assistant", "content": ""}, model="m"), chunk({}, "content_filter", model="m"), None
    )
    assert answers == [[], [finished("content_filter", open={}, model="m")], [END]]


def test_an_answer_of_which_nothing_came_has_no_end() -> None:
    """A role and then nothing: no message is made."""
    assert decode(chunk({"role": "assistant"}), b"[DONE]") == [[], []]


# Whose a chunk is


def test_the_choices_of_an_answer_are_told_apart() -> None:
    """By their index."""
    answers = decode(
        text("a"), text("b", index=1), {"id": "c1", "choices": [*text("c")["choices"], *text("d", index=1)["choices"]]}
    )
    assert answers == [[said("a")], [said("b", index=1)], [said("c"), said("d", index=1)]]


@pytest.mark.parametrize("answer", ["", None])
def test_without_an_id_it_is_the_unnamed_message(answer: str | None) -> None:
    """Servers that send none still end their answers; the next one is another message."""
    end = Chunk(choice=0, end=True)
    first, last, other = text("a", answer=answer), chunk({}, "stop", answer=answer), text("b", answer=answer)
    answers = decode(first, last, usage_only(answer), other)
    assert answers[2] == [Chunk(choice=0, usage=USAGE), end]
    assert answers[3] == [said("b", answer=None)]
    assert decode(first, last, other)[2] == [end, said("b", answer=None)]


def test_a_header_names_the_message_of_a_server_that_does_not() -> None:
    """The producer knows it."""
    assert decode(text("a", answer=""), headers=[("tm-message-id", b"m7")]) == [[said("a", answer="m7")]]


def test_a_chunk_without_an_id_belongs_to_the_answer_before() -> None:
    """Azure's filters report in chunks of their own."""
    verdict = {"id": "", "object": "", "choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {}}]}
    assert decode(text("a"), verdict, chunk({"content": "b"}, answer=None)) == [[said("a")], [], [said("b")]]


def test_counts_under_an_id_that_nobody_knows_are_of_the_last_answer() -> None:
    """Some servers give each chunk an id of its own. A known message keeps its counts; an open answer gets none yet."""
    last = [finished("stop", open={}), Chunk(message_id="c1", choice=0, usage=USAGE), END]
    assert decode(chunk(finish="stop"), usage_only("c2"))[1] == last[1:]
    assert decode(text("x", answer="c0"), text("y"), chunk(finish="stop"), usage_only("c0"), usage_only("c2"))[-2:] == [
        [Chunk(message_id="c0", choice=0, usage=USAGE)],
        last[1:],
    ]
    assert decode(usage_only("c2")) == [[]]
    assert decode(text("x"), usage_only("c2"), chunk(finish="stop"))[1:] == [[], [finished("stop")]]


def test_a_first_chunk_without_choices_opens_nothing() -> None:
    """Azure's report on the prompt has neither id nor choices."""
    report = {"id": "", "object": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    assert decode(report, text("a")) == [[], [said("a")]]


# What else a chunk may hold


@pytest.mark.parametrize(
    ("frame", "chunks"),
    [
        (text("b", model="m", obfuscation="xxxx", service_tier="default"), [said("b", model="m")]),
        (text("b", error=None), [said("b")]),
        (text("b", error={}), [said("b")]),
        (text("b", error={"message": "overloaded"}), [said("b"), FAILED]),
        ({"id": "c1", "choices": [], "moderation": VERDICT}, [said("", part=ProviderPart("moderation", VERDICT))]),
        (chunk({}, "stop", x_groq={"id": "r", "usage": USAGE}), [finished("stop", usage=USAGE)]),
    ],
    ids=["model", "null error", "empty error", "error behind content", "verdict", "usage of Groq"],
)
def test_what_else_counts(frame: Any, chunks: list[Chunk]) -> None:
    """Beside choices, or in a chunk of its own; servers that write every field write empty ones."""
    assert decode(text("a"), frame)[1] == chunks


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"error": {"message": "overloaded", "type": "server_error", "param": None, "code": None}}, "overloaded"),
        ({"object": "error", "message": "overloaded", "code": 1}, "overloaded"),
        ({"error": "overloaded"}, "overloaded"),
        ({"error": {"code": 1}}, '{"code":1}'),
        ({"id": "c1", "choices": [], "error": {"message": "overloaded"}}, "overloaded"),
    ],
)
def test_an_error_frame_ends_the_answer(frame: dict[str, Any], message: str) -> None:
    """In the middle of a stream, or in place of one."""
    failed = msgspec.structs.replace(FAILED, error=message)
    assert decode(text("a"), frame, b"[DONE]") == [[said("a")], [failed], []]
    first = msgspec.structs.replace(failed, message_id=frame.get("id"))
    assert decode(frame) == [[first]]


@pytest.mark.parametrize("before", [[], [text("a")]])
def test_a_choice_that_ends_for_an_error_ends_with_that_error(before: list[Any]) -> None:
    """It is ignored, because the error next to it gives the reason."""
    told: dict[str, Any] = {"error": {"code": 502, "message": "overloaded"}}
    failed = msgspec.structs.replace(FAILED, error_status=502)
    *_, chunks = decode(*before, chunk({"content": ""}, "error", **told))
    assert chunks == [failed]
    *_, chunks, last = decode(*before, chunk({"content": "b"}, "error", **told), b"[DONE]")
    assert (chunks, last) == ([said("b"), failed], [])


NO_STATUSES: list[Any] = [399, 600, -400, 400.0, "399", "0400", "-400", " 400", "\uff14\uff10\uff10", "", True, []]


@pytest.mark.parametrize(
    ("frame", "status"),
    [
        ({"error": {"message": "too long", "type": "BadRequestError", "param": None, "code": 400}}, 400),
        ({"object": "error", "message": "too long", "code": 422}, 422),
        ({"error": {"message": "too long", "code": "context_length_exceeded"}, "code": 599}, 599),
        ({"error": "too long", "code": 400}, 400),
        ({"error": {"message": "too long", "code": 429}, "code": 500}, 429),
        ({"error": {"message": "too long", "code": "400"}}, 400),
        *(({"error": {"message": "too long", "code": code}}, None) for code in NO_STATUSES),
    ],
)
def test_an_error_frame_may_say_a_status(frame: dict[str, Any], status: int | None) -> None:
    """What HTTP would have said, had the head not been sent: only that of a refusal or a failure is one."""
    ((failed,),) = decode(frame)
    assert (failed.error, failed.error_status) == ("too long", status)


def test_an_answer_that_was_not_streamed_is_all_of_its_message() -> None:
    """Its server knows no streams: nothing follows, not even `[DONE]`."""
    choices = [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]
    whole = {"id": "c1", "object": "chat.completion", "model": "m", "choices": choices, "usage": USAGE}
    assert decode(whole) == [[finished("stop", delta="Hi", usage=USAGE, model="m"), END]]


def test_the_text_at_which_an_answer_stopped_comes_with_its_reason() -> None:
    """In a chunk that brings nothing else, and in one that brings the last text."""
    end = {"index": 0, "delta": {}, "finish_reason": "stop", "stop_reason": "END"}
    for last in (end, end | {"delta": {"content": "b"}}):
        *_, finish = provided("openai", chunk(text("a")), {"id": "chatcmpl-1", "choices": [last]}, b"[DONE]").events
        assert isinstance(finish, Finish)
        assert finish.stop_sequence == "END"
