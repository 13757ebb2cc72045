"""The AI SDK for Node reads the dialect `ai_sdk_ui`."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.answered import ERROR, SHOWN, answered
from tests.support.judging import judged
from tests.support.scenarios import SCENARIOS, Rendered, lost, rendered
from tokenmill.events import Error

HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
MODES = {"growing": {"stream_tool_input": True}, "whole": {"stream_tool_input": False}}
STREAMS = {
    f"{name}, {mode}": rendered(scenario, "ai_sdk_ui", **options)
    for name, scenario in SCENARIOS.items()
    for mode, options in MODES.items()
}


def _faults() -> dict[str, Sequence[bytes]]:
    """Streams that the client must refuse, or is known to take."""
    good = STREAMS["reasoning, text and a call, growing"].payloads
    return {
        "a delta without its start": [payload for payload in good if b'"text-start"' not in payload],
        "an unknown type": [*good[:2], b'{"type":"text-middle","id":"t"}', *good[2:]],
        "a missing field": [payload.replace(b'"delta"', b'"text"') for payload in good],
        "no JSON": [*good[:3], b'{"type":"text-', *good[3:]],
        "an unknown reason": [payload.replace(b'"tool-calls"', b'"done"') for payload in good],
        "cut off": good[:8],
    }


@pytest.fixture(scope="module")
def shown() -> Any:
    """What the client makes of every stream."""
    streams: dict[str, Sequence[bytes]] = {name: done.payloads for name, done in STREAMS.items()}
    return judged(
        "ai_sdk_ui.mjs",
        streams | _faults() | {"lost": lost("ai_sdk_ui").payloads, "answered": answered("ai_sdk_ui")[0]},
        HEADERS,
    )


def _texts(parts: list[dict[str, Any]], kind: str) -> str:
    return "".join(part["text"] for part in parts if part["type"] == kind)


def _calls(parts: list[dict[str, Any]], state: str) -> list[tuple[str, str, Any]]:
    calls = [part for part in parts if part["type"].startswith(("tool-", "dynamic-tool")) and part["state"] == state]
    return [
        (call["toolCallId"], call.get("toolName", call["type"].removeprefix("tool-")), call.get("input"))
        for call in calls
    ]


def _problems(done: Rendered) -> set[Any]:
    """Ids of calls with an error."""
    return {event.id for event in done.events if isinstance(event, Error)}


@pytest.mark.parametrize("name", STREAMS)
def test_the_client_shows_what_happened(shown: Any, name: str) -> None:
    """Text, reasoning and calls; what failed is shown as failed; the last frame says that it is over."""
    done, answer = STREAMS[name], shown[name]
    parts = answer["message"]["parts"]
    assert done.payloads[-1] == b"[DONE]"
    assert _texts(parts, "text") == done.shown + "".join(done.parts("refusal"))
    assert _texts(parts, "reasoning") == done.reasoning
    assert all(part["state"] == "done" for part in parts if part["type"] in ("text", "reasoning"))
    problems = _problems(done)
    assert _calls(parts, "input-available") == [call for call in done.calls if call[0] not in problems]
    failed = {call_id for call_id, _, _ in _calls(parts, "output-error")}
    assert failed >= {call_id for call_id, _, _ in done.calls} & problems
    assert failed <= problems
    assert not _calls(parts, "input-streaming")
    if done.finish.reason in ("error", "timeout"):
        assert answer["error"].startswith("Error: ")
    else:
        assert answer["error"] is None
        ending = {"type": "abort", "reason": "cancelled"}
        if done.finish.reason != "cancelled":
            ending = {"type": "finish", "finishReason": done.finish.reason}
        assert json.loads(done.payloads[-2]).items() >= ending.items()


def test_counts_of_tokens_arrive(shown: Any) -> None:
    """In the metadata of the message."""
    usage = shown["text, growing"]["message"]["metadata"]["usage"]
    assert (usage["inputTokens"], usage["outputTokens"], usage["totalTokens"]) == (5, 7, 12)


def test_tools_that_nobody_declared_are_dynamic(shown: Any) -> None:
    """A page has no type for them."""
    kinds = {
        name: [part["type"] for part in shown[f"{name}, growing"]["message"]["parts"] if "toolCallId" in part]
        for name in ("a call without arguments", "a call alone")
    }
    assert kinds == {"a call without arguments": ["dynamic-tool"], "a call alone": ["tool-get_weather"]}


def test_a_lost_message_ends_with_an_error(shown: Any) -> None:
    """What was shown stays, and the client is told."""
    assert shown["lost"]["error"] == "Error: the log no longer holds its beginning"


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("a delta without its start", "AI_UIMessageStreamError"),
        ("an unknown type", "AI_TypeValidationError"),
        ("a missing field", "AI_TypeValidationError"),
        ("no JSON", "AI_JSONParseError"),
        ("an unknown reason", "AI_TypeValidationError"),
    ],
)
def test_the_judge_sees_faults(shown: Any, fault: str, seen: str) -> None:
    """So its silence means something."""
    assert shown[fault]["error"].startswith(seen)


def test_the_judge_does_not_see_the_end_missing(shown: Any) -> None:
    """Which is why the last frame is compared above."""
    assert shown["cut off"]["error"] is None


def test_the_client_shows_what_tools_answered(shown: Any) -> None:
    """As the output of their calls, those that no page has a type for, too."""
    assert shown["answered"]["error"] is None
    parts = [part for part in shown["answered"]["message"]["parts"] if "toolCallId" in part]
    told = [(part["type"], part["state"], part.get("output"), part.get("errorText")) for part in parts]
    assert told == [
        ("tool-clock", "output-available", SHOWN, None),
        ("dynamic-tool", "output-error", None, ERROR),
    ]
