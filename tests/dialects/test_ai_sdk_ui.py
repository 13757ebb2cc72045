"""Dialect `ai_sdk_ui`; the SDK that reads it is in `tests/judges`."""

import json
from typing import Any

from tests.support.answered import ERROR, SHOWN, answered, results_in
from tests.support.scenarios import SCENARIOS, rendered

DONE = b"[DONE]"
BLOCKS = {f"{kind}-{step}" for kind in ("text", "reasoning") for step in ("start", "delta", "end")}
TOOLS = {f"tool-input-{step}" for step in ("start", "delta", "available", "error")}
SAFE = BLOCKS | TOOLS | {"start", "start-step", "finish-step", "finish", "error", "abort"}
"""Types that versions 5 to 7 know, beside `data-…`."""


def chunks(name: str, **options: Any) -> list[dict[str, Any]]:
    *payloads, last = rendered(SCENARIOS[name], "ai_sdk_ui", **options).payloads
    assert last == DONE
    return [json.loads(payload) for payload in payloads]


def test_a_message_with_everything() -> None:
    """One chunk for each event, and the steps around them."""
    call = {"toolCallId": "", "toolName": "get_weather"}
    shown = [
        chunk | ({"toolCallId": ""} if "toolCallId" in chunk else {})
        for chunk in chunks("reasoning, text and a call", stream_tool_input=False)
    ]
    assert shown == [
        {"type": "start", "messageId": "message"},
        {"type": "start-step"},
        {"type": "reasoning-start", "id": "r0"},
        {"type": "reasoning-delta", "id": "r0", "delta": "Hm"},
        {"type": "reasoning-delta", "id": "r0", "delta": "m."},
        {"type": "reasoning-end", "id": "r0"},
        {"type": "text-start", "id": "t1"},
        {"type": "text-delta", "id": "t1", "delta": "It is: "},
        {"type": "text-end", "id": "t1"},
        {"type": "tool-input-available", **call, "input": {"city": 'Zürich "🌧"', "days": 3}},
        {"type": "finish-step"},
        {
            "type": "finish",
            "finishReason": "tool-calls",
            "messageMetadata": {
                "usage": {
                    "inputTokens": 5,
                    "outputTokens": 7,
                    "totalTokens": 12,
                    "reasoningTokens": 0,
                    "cachedInputTokens": 0,
                }
            },
        },
    ]


def test_only_types_that_all_versions_know() -> None:
    """An unknown one would be fatal to a page."""
    for name in SCENARIOS:
        kinds = {chunk["type"] for chunk in chunks(name)}
        assert {kind for kind in kinds if not kind.startswith("data-")} <= SAFE


def test_input_that_grows_is_that_of_the_call() -> None:
    """Joined it is the JSON of the arguments."""
    shown = chunks("a call in another notation")
    text = "".join(chunk["inputTextDelta"] for chunk in shown if chunk["type"] == "tool-input-delta")
    (call,) = [chunk for chunk in shown if chunk["type"] == "tool-input-available"]
    assert json.loads(text) == call["input"] == {"city": "Paris", "days": 3}


def test_a_call_with_a_problem_is_not_available() -> None:
    """It is shown with what is wrong with it."""
    (call,) = [chunk for chunk in chunks("an unknown tool") if "toolName" in chunk and "input" in chunk]
    assert call["type"] == "tool-input-error"
    assert call["dynamic"] is True
    assert "rm" in call["errorText"]


def test_what_goes_wrong_in_the_middle_is_data() -> None:
    """The stream goes on, so it is no `error`."""
    assert {
        "type": "data-error",
        "data": {"code": "gap", "message": "chunks 1 to 3 are missing"},
        "transient": True,
    } in chunks("a gap")


def test_a_provider_names_the_metadata() -> None:
    """Where the message tells it."""
    shown = chunks("parts of a provider", provider="anthropic")
    assert {"anthropic": {"signature": "c2ln"}} in [chunk.get("providerMetadata") for chunk in shown]


def test_what_a_tool_answered_is_the_output_of_its_call() -> None:
    """Behind the end of the message there is none: its reader has gone."""
    payloads, (good, bad) = answered("ai_sdk_ui")
    assert results_in(payloads, "tool-output-available", "tool-output-error") == [
        {"type": "tool-output-available", "toolCallId": good, "output": SHOWN},
        {"type": "tool-output-error", "toolCallId": bad, "dynamic": True, "errorText": ERROR},
    ]
    assert results_in(answered("ai_sdk_ui", late=True)[0], "tool-output-available", "tool-output-error") == []
