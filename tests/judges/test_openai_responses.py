"""The Python SDK of OpenAI reads the dialect `openai_responses`."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from openai import OpenAI
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tests.support.answered import ERROR, answered
from tests.support.judging import serving, sse
from tests.support.scenarios import SCENARIOS, Rendered, lost, rendered
from tokenmill.limits import Limits

CLIENT = OpenAI(base_url="http://127.0.0.1", api_key="x", max_retries=0)
EVENT: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)

MODES = [pytest.param({}, id="growing"), pytest.param({"stream_tool_input": False}, id="whole")]
ENDS = {
    "stop": "response.completed",
    "tool-calls": "response.completed",
    "length": "response.incomplete",
    "content-filter": "response.incomplete",
    "cancelled": "response.incomplete",
    "error": "response.failed",
    "timeout": "response.failed",
}


TOOL: Any = {"type": "function", "name": "get_weather", "strict": True, "parameters": {"type": "object"}}
"""Declared so, the SDK reads the arguments of its calls as JSON when the response ends."""


def read(payloads: Sequence[bytes]) -> list[Any]:
    """The events that the SDK makes of a stream."""
    with (
        serving(sse(payloads, named=True)) as url,
        CLIENT.with_options(base_url=url).responses.stream(model="m", input="?", tools=[TOOL]) as stream,
    ):
        return list(stream)


def check(done: Rendered, response: Response) -> None:
    """What the client shows is what happened."""
    parts = [(item.type, part) for item in response.output for part in getattr(item, "content", None) or ()]
    assert "".join(part.text for _, part in parts if part.type == "output_text") == done.shown
    assert "".join(part.text for kind, part in parts if kind == "reasoning") == done.reasoning
    assert [part.refusal for _, part in parts if part.type == "refusal"] == done.parts("refusal")
    calls = [item for item in response.output if item.type == "function_call"]
    assert [(call.call_id, call.name, json.loads(call.arguments)) for call in calls] == done.calls
    assert {call.status for call in calls} <= {"completed"}


@pytest.mark.parametrize("options", MODES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_client_shows_what_happened(name: str, options: dict[str, Any]) -> None:
    """Text, reasoning and calls, whatever befell the message; strict models take every event."""
    done = rendered(SCENARIOS[name], "openai_responses", **options)
    frames = [json.loads(payload) for payload in done.payloads]
    assert [frame["sequence_number"] for frame in frames] == list(range(len(frames)))
    assert frames[-1]["type"] == ENDS[done.finish.reason]
    for payload in done.payloads:
        EVENT.validate_json(payload)
    last = read(done.payloads)[-1]
    assert last.type == frames[-1]["type"]
    check(done, last.response)


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_said_again_is_what_was_said(name: str) -> None:
    """The joined deltas of an item are its text, or its arguments, when it ends."""
    frames = [json.loads(payload) for payload in rendered(SCENARIOS[name], "openai_responses").payloads]
    said: dict[str, str] = {}
    for frame in frames:
        if frame["type"].endswith(".delta"):
            said[frame["item_id"]] = said.get(frame["item_id"], "") + frame["delta"]
        elif frame["type"] == "response.output_item.done":
            item = frame["item"]
            (again,) = [part.get("text", part.get("refusal")) for part in item.get("content", ())] or [
                item["arguments"]
            ]
            assert again == said.get(item["id"], "")


def test_counts_of_tokens_arrive() -> None:
    """With the last event."""
    usage = read(rendered(SCENARIOS["text"], "openai_responses").payloads)[-1].response.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (5, 7, 12)


def test_what_is_said_again_is_bounded() -> None:
    """Deltas say all of a very long answer; the response says that it holds only its beginning."""
    scenario = SCENARIOS["text"]._replace(chunks=[*[{"delta": "é" * 50_000}] * 8, {"finish_reason": "stop"}])
    done = rendered(scenario, "openai_responses")
    assert max(map(len, done.payloads)) < Limits().output_bytes
    response = read(done.payloads)[-1].response
    assert response.metadata == {"tm-truncated": "1"}
    assert done.shown.startswith(response.output_text)
    assert len(response.output_text) == 250_000
    deltas = [json.loads(payload)["delta"] for payload in done.payloads if b"output_text.delta" in payload]
    assert "".join(deltas) == done.shown


def test_a_failure_tells_why() -> None:
    """In the provider's words where it gave some."""
    error = read(rendered(SCENARIOS["the provider fails"], "openai_responses").payloads)[-1].response.error
    assert error.message == "out of memory"


def test_a_lost_message_ends_with_an_error() -> None:
    """What was shown stays, and the client is told."""
    last = read(lost("openai_responses").payloads)[-1]
    assert (last.type, last.message) == ("error", "the log no longer holds its beginning")


# The judge judges: faults that it must see


def test_the_judge_sees_another_response() -> None:
    """The id must stay the same."""
    *payloads, last = rendered(SCENARIOS["text"], "openai_responses").payloads
    with pytest.raises(RuntimeError, match="identity"):
        read([*payloads, last.replace(b'"id":"message"', b'"id":"other"')])


def test_the_judge_sees_a_delta_without_its_item() -> None:
    """Text belongs to an item that has begun."""
    payloads = rendered(SCENARIOS["text"], "openai_responses").payloads
    with pytest.raises((AssertionError, LookupError, RuntimeError)):
        read([payload for payload in payloads if b"output_item.added" not in payload])


def test_the_judge_sees_a_missing_field() -> None:
    """The strict models want every field of the shape."""
    (payload, *_) = [p for p in rendered(SCENARIOS["text"], "openai_responses").payloads if b"text.delta" in p]
    with pytest.raises(ValueError, match="logprobs"):
        EVENT.validate_json(payload.replace(b'"logprobs":[],', b""))


def test_the_client_shows_what_tools_answered() -> None:
    """As items of the response; strict models take every event."""
    payloads, (good, bad) = answered("openai_responses")
    for payload in payloads:
        EVENT.validate_json(payload, strict=True)
    (end,) = [event for event in read(payloads) if event.type == "response.completed"]
    told = [(item.call_id, item.output) for item in end.response.output if item.type == "function_call_output"]
    assert told == [(good, "It is\nnoon."), (bad, ERROR)]
