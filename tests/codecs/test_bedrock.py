"""Codec `bedrock`: reading the events of ConverseStream."""

from typing import Any

import pytest

from tests.support.provided import provided
from tokenmill.events import Finish

START = {"messageStart": {"role": "assistant"}}
USAGE = {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12}
METADATA = {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 42}}}


def delta(index: int = 0, **body: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": body}}


def begin(index: int = 0, **start: Any) -> dict[str, Any]:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": start}}


def stop(reason: str) -> dict[str, Any]:
    return {"messageStop": {"stopReason": reason}}


def test_a_message_with_everything() -> None:
    """Reasoning with its signature, text without a start, a call in pieces, counts after the reason."""
    done = provided(
        "bedrock",
        START,
        delta(reasoningContent={"text": "hm"}),
        delta(reasoningContent={"signature": "sig"}),
        delta(1, text="Hi"),
        {"contentBlockStop": {"contentBlockIndex": 1}},
        begin(2, toolUse={"toolUseId": "t1", "name": "f"}),
        delta(2, toolUse={"input": '{"x"'}),
        delta(2, toolUse={"input": ":1}"}),
        {"contentBlockStop": {"contentBlockIndex": 2}},
        stop("tool_use"),
        METADATA,
    )
    assert (done.reasoning, done.text, done.parts) == ("hm", "Hi", [("signature", "sig")])
    assert (done.calls, done.call_ids) == ([("f", {"x": 1})], ["t1"])
    assert done.ends == [("tool-calls", USAGE)]


def test_other_blocks_are_parts() -> None:
    """Results of tools, images, citations, reasoning that is hidden, a tool of the server."""
    result = {"toolUseId": "t", "type": "x", "status": "success"}
    server = {"toolUseId": "s", "name": "search", "type": "server_tool_use"}
    done = provided(
        "bedrock",
        begin(toolResult=result),
        begin(1, toolUse=server),
        delta(2, citation={"title": "t"}),
        delta(3, reasoningContent={"redactedContent": "b3BhcXVl"}),
    )
    assert done.parts == [
        ("toolResult", result),
        ("toolUse", server),
        ("citation", {"title": "t"}),
        ("redacted_thinking", "b3BhcXVl"),
    ]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("stop_sequence", "stop"),
        ("guardrail_intervened", "content-filter"),
        ("content_filtered", "content-filter"),
        ("malformed_tool_use", "error"),
        ("model_context_window_exceeded", "length"),
    ],
)
def test_reasons(word: str, reason: str) -> None:
    """Bedrock's words, read as the native ones."""
    assert provided("bedrock", START, delta(text="a"), stop(word), METADATA).ends == [(reason, USAGE)]


@pytest.mark.parametrize(
    "name", ["internalServerException", "modelStreamErrorException", "throttlingException", "validationException"]
)
def test_exceptions_end_the_message(name: str) -> None:
    """They name the failure and its reason."""
    done = provided("bedrock", START, delta(text="a"), {name: {"message": "slow down"}})
    assert (done.errors, done.ends) == ([("upstream", f"{name}: slow down")], [("error", None)])


@pytest.mark.parametrize("last", [METADATA, START, None], ids=["metadata", "another message", "null"])
def test_what_ends_a_message(last: Any) -> None:
    """The first of what can."""
    assert provided("bedrock", START, delta(text="a"), stop("end_turn"), last).ends[0][0] == "stop"


def test_a_message_without_a_start_is_opened_by_its_content() -> None:
    """And one without content by its reason."""
    assert provided("bedrock", delta(text="a"), METADATA).ends == [("stop", USAGE)]
    assert [event.type for event in provided("bedrock", stop("end_turn"), METADATA).events] == [
        "message-start",
        "finish",
    ]


def test_what_comes_behind_the_end_says_nothing() -> None:
    """Counts of no message."""
    assert provided("bedrock", METADATA).events == []


@pytest.mark.parametrize("junk", [b"junk", b"{", b"[]", b"{}", b'{"metadata":{"usage":{"n":99999999999999999999}}}'])
def test_junk_is_a_dead_letter_and_changes_nothing(junk: bytes) -> None:
    """The message continues after it."""
    done = provided("bedrock", START, delta(text="a"), junk, {"unheard": {}}, delta(text="b"), METADATA)
    assert (done.rejected, done.text, done.ends) == (["undecodable"], "ab", [("stop", USAGE)])


def test_a_stop_sequence_comes_with_its_text_where_that_was_asked_for() -> None:
    """By `additionalModelResponseFieldPaths`."""
    end = {"messageStop": {"stopReason": "stop_sequence", "additionalModelResponseFields": {"stop_sequence": "END"}}}
    *_, finish = provided("bedrock", START, delta(text="a"), end, METADATA).events
    assert isinstance(finish, Finish)
    assert finish.stop_sequence == "END"
