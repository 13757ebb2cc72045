"""Dialect `ag_ui`; the clients that read it are in `tests/judges`."""

import json
from typing import Any

from tests.support.answered import ERROR, answered, results_in
from tests.support.scenarios import SCENARIOS, STARTED_MS, rendered


def events(name: str, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(payload) for payload in rendered(SCENARIOS[name], "ag_ui", **options).payloads]


def test_a_message_with_everything() -> None:
    """A run with a message for the reasoning, one for the text, and a call that belongs to it."""
    shown = [
        {key: value for key, value in event.items() if key not in ("timestamp", "toolCallId")}
        for event in events("reasoning, text and a call", stream_tool_input=False)
    ]
    assert shown[:-1] == [
        {"type": "RUN_STARTED", "threadId": "conversation", "runId": "message", "protocolVersion": "1.0"},
        {"type": "REASONING_START", "messageId": "message-r0"},
        {"type": "REASONING_MESSAGE_START", "messageId": "message-r0", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "message-r0", "delta": "Hm"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "message-r0", "delta": "m."},
        {"type": "REASONING_MESSAGE_END", "messageId": "message-r0"},
        {"type": "REASONING_END", "messageId": "message-r0"},
        {"type": "TEXT_MESSAGE_START", "messageId": "message-t1", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "message-t1", "delta": "It is: "},
        {"type": "TEXT_MESSAGE_END", "messageId": "message-t1"},
        {"type": "TOOL_CALL_START", "toolCallName": "get_weather", "parentMessageId": "message-t1"},
        {"type": "TOOL_CALL_ARGS", "delta": '{"city":"Zürich \\"🌧\\"","days":3}'},
        {"type": "TOOL_CALL_END"},
    ]
    assert shown[-1]["type"] == "RUN_FINISHED"
    assert shown[-1]["result"] == {"finishReason": "tool-calls"}
    assert shown[-1]["outcome"] == {"type": "success"}


def test_events_have_the_time_of_their_record() -> None:
    """In milliseconds, as the protocol wants it."""
    assert [event["timestamp"] - STARTED_MS for event in events("text")] == [0, 0, 0, 1, 3, 3]


def test_calls_without_text_belong_to_the_first() -> None:
    """So that a client shows them in one message."""
    call = SCENARIOS["a call alone"].chunks[0]
    scenario = SCENARIOS["a call alone"]._replace(chunks=[call, call, {"finish_reason": "stop"}])
    shown = [json.loads(payload) for payload in rendered(scenario, "ag_ui").payloads]
    first, second = [event for event in shown if event["type"] == "TOOL_CALL_START"]
    assert "parentMessageId" not in first
    assert second["parentMessageId"] == first["toolCallId"]


def test_nothing_follows_an_error() -> None:
    """The protocol forbids it; so what was open is ended before."""
    shown = [event["type"] for event in events("the provider fails")]
    assert shown.count("RUN_ERROR") == 1
    assert shown[-1] == "RUN_ERROR"
    assert "RUN_FINISHED" not in shown


def test_choices_are_runs_of_their_own() -> None:
    """In the same thread."""
    scenario = SCENARIOS["text"]._replace(chunks=[{"delta": "a", "choice": 2}])
    start = json.loads(rendered(scenario, "ag_ui").payloads[0])
    assert (start["threadId"], start["runId"]) == ("conversation", "message-2")


def test_nothing_is_null() -> None:
    """What is optional is absent: the strict client refuses a null."""
    for name in SCENARIOS:
        for event in events(name):
            assert None not in [value for key, value in event.items() if key != "value"]


def test_what_a_tool_answered_is_a_message_of_the_role_tool() -> None:
    """Of its call; behind the end of the run there is none, as nothing may come there."""
    payloads, (good, bad) = answered("ag_ui")
    told = results_in(payloads, "TOOL_CALL_RESULT")
    assert [(each["toolCallId"], each["content"], each["role"]) for each in told] == [
        (good, "It is\nnoon.", "tool"),
        (bad, ERROR, "tool"),
    ]
    assert len({each["messageId"] for each in told}) == 2
    assert results_in(answered("ag_ui", late=True)[0], "TOOL_CALL_RESULT") == []
