"""The AG-UI clients for Node and Python read the dialect `ag_ui`."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import Event as AgUiEvent
from pydantic import TypeAdapter

from tests.support.answered import ERROR, answered
from tests.support.judging import judged
from tests.support.scenarios import SCENARIOS, lost, rendered
from tokenmill.events import Error

EVENT: TypeAdapter[AgUiEvent] = TypeAdapter(AgUiEvent)
MODES = {"growing": {"stream_tool_input": True}, "whole": {"stream_tool_input": False}}
STREAMS = {
    f"{name}, {mode}": rendered(scenario, "ag_ui", **options)
    for name, scenario in SCENARIOS.items()
    for mode, options in MODES.items()
}
ANSWERED = answered("ag_ui")


def _faults() -> dict[str, Sequence[bytes]]:
    """Streams that the client must refuse, or is known to take."""
    good = STREAMS["reasoning, text and a call, growing"].payloads
    return {
        "another first event": good[1:],
        "an end inside of a text": [payload for payload in good if b"TEXT_MESSAGE_END" not in payload],
        "a missing field": [payload.replace(b'"delta"', b'"text"') for payload in good],
        "a null": [payload.replace(b'"role":"assistant"', b'"role":null') for payload in good],
        "[DONE]": [*good, b"[DONE]"],
        "cut off": good[:-1],
    }


@pytest.fixture(scope="module")
def shown() -> Any:
    """What the client makes of every stream."""
    streams: dict[str, Sequence[bytes]] = {name: done.payloads for name, done in STREAMS.items()}
    return judged("ag_ui.mjs", streams | _faults() | {"lost": lost("ag_ui").payloads, "answered": ANSWERED[0]})


@pytest.mark.parametrize("name", STREAMS)
def test_the_client_shows_what_happened(shown: Any, name: str) -> None:
    """Texts, reasoning and calls as messages; the last event says that it is over."""
    done, answer = STREAMS[name], shown[name]
    messages = answer["messages"]
    assert answer["error"] is None
    visible = "".join(message.get("content", "") for message in messages if message["role"] == "assistant")
    assert visible == done.shown + "".join(done.parts("refusal"))
    assert "".join(message["content"] for message in messages if message["role"] == "reasoning") == done.reasoning
    calls = [call for message in messages for call in message.get("toolCalls", ())]
    complete = {call_id for call_id, _, _ in done.calls}
    assert [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in calls
        if call["id"] in complete
    ] == done.calls
    for call in calls:
        if call["id"] not in complete:
            with pytest.raises(json.JSONDecodeError):
                json.loads(call["function"]["arguments"])
    failed = done.finish.reason in ("error", "timeout")
    assert json.loads(done.payloads[-1])["type"] == answer["events"][-1]["type"]
    assert answer["events"][-1]["type"] == ("RUN_ERROR" if failed else "RUN_FINISHED")
    assert len(answer["events"]) == len(done.payloads)


@pytest.mark.parametrize("name", STREAMS)
def test_the_models_for_python_take_every_event(name: str) -> None:
    """They check types, no order."""
    for payload in STREAMS[name].payloads:
        EVENT.validate_json(payload)


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_wrong_with_a_call_is_said(name: str) -> None:
    """The protocol has no event for it, so it is a custom one."""
    done = STREAMS[name]
    errors = [(event.id, event.code) for event in done.events if isinstance(event, Error) and isinstance(event.id, str)]
    customs = [event for event in map(json.loads, done.payloads) if event["type"] == "CUSTOM"]
    told = [event["value"] for event in customs if event["name"] == "tool-call-error"]
    assert [(value["toolCallId"], value["code"]) for value in told] == errors


def test_a_cancelled_run_says_so() -> None:
    """It is finished, with another outcome."""
    last = json.loads(STREAMS["cancelled inside a call, growing"].payloads[-1])
    assert last["outcome"] == {"type": "cancelled"}


def test_counts_of_tokens_arrive(shown: Any) -> None:
    """With the end of the run."""
    (usage,) = shown["text, growing"]["events"][-1]["usage"]
    assert usage.items() >= {"model": "some-model", "inputTokens": 5, "outputTokens": 7, "totalTokens": 12}.items()


def test_a_signature_stays_with_its_reasoning(shown: Any) -> None:
    """So that a client can send it back."""
    reasoning, *_ = shown["parts of a provider, growing"]["messages"]
    assert reasoning["encryptedValue"] == "c2ln"


def test_a_lost_message_ends_with_an_error(shown: Any) -> None:
    """What was shown stays, and the client is told."""
    assert shown["lost"]["events"][-1]["message"] == "the log no longer holds its beginning"


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ("another first event", "First event must be 'RUN_STARTED'"),
        ("an end inside of a text", "still active"),
        ("a missing field", "ZodError"),
        ("a null", "ZodError"),
        ("[DONE]", "SyntaxError"),
    ],
)
def test_the_judge_sees_faults(shown: Any, fault: str, seen: str) -> None:
    """So its silence means something."""
    assert seen in shown[fault]["error"]


def test_the_judge_does_not_see_the_end_missing(shown: Any) -> None:
    """Which is why the last event is compared above."""
    assert shown["cut off"]["error"] is None


@pytest.mark.parametrize("payload", [b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m"}', b'{"type":"TEXT_MIDDLE"}'])
def test_the_models_for_python_refuse_faults(payload: bytes) -> None:
    """A missing field, an unknown type."""
    with pytest.raises(ValueError, match=r"delta|tag"):
        EVENT.validate_json(payload)


def test_the_client_shows_what_tools_answered(shown: Any) -> None:
    """As messages of the role `tool`."""
    payloads, (good, bad) = ANSWERED
    told = [each for each in shown["answered"]["messages"] if each["role"] == "tool"]
    assert [(each["toolCallId"], each["content"]) for each in told] == [(good, "It is\nnoon."), (bad, ERROR)]
    for payload in payloads:
        EVENT.validate_json(payload)
