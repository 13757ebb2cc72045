"""Dialect `ai_sdk_parts`: what a client may rely on in every message, and the shapes of its own."""

import json
from typing import Any

import pytest

from tests.support.scenarios import SCENARIOS, Scenario, rendered
from tokenmill.dialects import Envelope
from tokenmill.events import Error, Event, Finish, Part, ToolCall, ToolInputStart, ToolResult
from tokenmill.systems.ai_sdk.parts_dialect import AI_SDK_PARTS, AiSdkPartsState


def parts_of(scenario: Scenario, **options: Any) -> list[dict[str, Any]]:
    """The parts of a scenario."""
    return [json.loads(payload) for payload in rendered(scenario, "ai_sdk_parts", **options).payloads]


def encode(*events: Event) -> list[dict[str, Any]]:
    """The parts of single events."""
    state, envelope = AiSdkPartsState(), Envelope("c", "m", 0, 0)
    return [json.loads(payload) for event in events for payload in AI_SDK_PARTS.encode(state, envelope, event, 0, 0)]


def check(parts: list[dict[str, Any]]) -> None:
    """Assert the order that readers of the SDK rely on."""
    open_blocks: set[str] = set()
    inputs: dict[str, str] = {}
    ended = ""
    for part in parts:
        kind, _, step = part["type"].rpartition("-")
        if kind in ("text", "reasoning"):
            assert (part["id"] in open_blocks) is (step != "start"), part
            if step == "start":
                open_blocks.add(part["id"])
            elif step == "end":
                open_blocks.remove(part["id"])
            else:
                assert part["delta"]
        elif part["type"] == "tool-input-start":
            assert not open_blocks
            inputs[part["id"]] = ""
        elif part["type"] == "tool-input-delta":
            inputs[part["id"]] += part["delta"]
        elif part["type"] == "tool-input-end":
            assert part["id"] in inputs
            ended = part["id"]
        elif part["type"] == "tool-call" and part["toolCallId"] in inputs:
            assert ended == part["toolCallId"]
            assert inputs.pop(ended) == part["input"]
            assert isinstance(json.loads(part["input"]), dict)
        elif part["type"] == "error" and part["error"].get("toolCallId") in inputs:
            assert inputs.pop(ended, None) is not None
    assert not open_blocks
    assert not inputs
    assert [part["type"] for part in parts].index("finish") == len(parts) - 1


@pytest.mark.parametrize("options", [{}, {"stream_tool_input": False}], ids=["streamed", "whole"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_message_is_valid(name: str, options: dict[str, Any]) -> None:
    """Errors, cancelled and unfinished messages, and native calls included."""
    check(parts_of(SCENARIOS[name], **options))


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_is_lost(name: str) -> None:
    """Text, reasoning and calls are those of the native events."""
    done = rendered(SCENARIOS[name], "ai_sdk_parts")
    parts = [json.loads(payload) for payload in done.payloads]
    assert "".join(part["delta"] for part in parts if part["type"] == "text-delta") == done.text
    assert "".join(part["delta"] for part in parts if part["type"] == "reasoning-delta") == done.reasoning
    calls = [(p["toolCallId"], p["toolName"], json.loads(p["input"])) for p in parts if p["type"] == "tool-call"]
    assert calls == done.calls


def test_a_call_between_texts() -> None:
    """Each text is a block of its own."""
    parts = parts_of(Scenario([{"delta": 'a<tool_call>{"name":"f","arguments":{"x":1}}</tool_call>b', "end": True}]))
    call_id = parts[3]["id"]
    assert parts == [
        {"type": "text-start", "id": "t0"},
        {"type": "text-delta", "id": "t0", "delta": "a"},
        {"type": "text-end", "id": "t0"},
        {"type": "tool-input-start", "id": call_id, "toolName": "f"},
        {"type": "tool-input-delta", "id": call_id, "delta": '{"x":1'},
        {"type": "tool-input-delta", "id": call_id, "delta": "}"},
        {"type": "tool-input-end", "id": call_id},
        {"type": "tool-call", "toolCallId": call_id, "toolName": "f", "input": '{"x":1}'},
        {"type": "text-start", "id": "t1"},
        {"type": "text-delta", "id": "t1", "delta": "b"},
        {"type": "text-end", "id": "t1"},
        {"type": "finish", "finishReason": {"unified": "tool-calls", "raw": "tool-calls"}},
    ]


def test_a_failed_call_says_why_and_comes_out_as_text() -> None:
    """In the words of the middleware, with the original."""
    (error,) = [part for part in parts_of(SCENARIOS["a broken call"]) if part["type"] == "error"]
    told = error["error"]
    assert (told["code"], told["dropReason"]) == ("malformed-call", "malformed-tool-call-body")
    assert told["toolName"] == "get_weather"
    assert told["toolCall"].startswith('<tool_call>{"name": "get_weather"')
    (error,) = [part for part in parts_of(SCENARIOS["an unfinished call"]) if part["type"] == "error"]
    assert error["error"]["dropReason"] == "unfinished-tool-call"


def test_an_error_about_a_call_that_follows_is_left_out() -> None:
    """The SDK looks at names and schemas itself; one about a call that does not follow is told."""
    assert encode(Error("unknown-tool", "m", "c", "f"), Error("schema-mismatch", "m", "c", "f")) == []
    (told,) = encode(Error("unknown-tool", "m", name="f", raw="<call>"))
    assert told["error"]["toolCall"] == "<call>"


def test_a_call_that_was_too_large_for_a_record_has_its_end() -> None:
    """The error that is published in its stead still finds that its input has begun."""
    parts = encode(ToolInputStart("c", "f", "json"), ToolCall("c", "f", {}), Error("limit", "m", "c", "f"))
    assert [part["type"] for part in parts[-2:]] == ["tool-input-end", "error"]


def test_other_parts_are_those_of_the_sdk_or_raw() -> None:
    """What came in through the codec of the same name goes out as it was."""
    source = {"type": "source", "id": "s", "url": "u"}
    assert encode(Part("source", source)) == [source]
    assert encode(Part("signature", "x", "r0")) == [
        {"type": "raw", "rawValue": {"kind": "signature", "value": "x", "id": "r0"}}
    ]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (Finish("stop"), {"unified": "stop", "raw": "stop"}),
        (Finish("stop", "end_turn"), {"unified": "stop", "raw": "end_turn"}),
        (Finish("stop", "other"), {"unified": "other", "raw": "other"}),
        (Finish("tool-calls", "other"), {"unified": "tool-calls", "raw": "other"}),
        (Finish("cancelled"), {"unified": "other", "raw": "cancelled"}),
        (Finish("timeout"), {"unified": "other", "raw": "timeout"}),
        (Finish("content-filter", "safety"), {"unified": "content-filter", "raw": "safety"}),
    ],
)
def test_the_reason_is_unified_and_raw(event: Finish, reason: dict[str, str]) -> None:
    """The SDK has no word for what tokenmill calls cancelled or timed out."""
    assert encode(event) == [{"type": "finish", "finishReason": reason}]


def test_results_of_tools() -> None:
    """A failed one says so."""
    assert encode(ToolResult("c", "f", {"a": 1}), ToolResult("d", "f", error="no")) == [
        {"type": "tool-result", "toolCallId": "c", "toolName": "f", "result": {"a": 1}},
        {"type": "tool-result", "toolCallId": "d", "toolName": "f", "result": "no", "isError": True},
    ]
