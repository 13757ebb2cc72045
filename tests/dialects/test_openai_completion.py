"""Dialect `openai_completion`."""

import json
from typing import Any

import pytest

from tests.support.parsing import all_cuts, grammar, parse
from tests.support.scenarios import SCENARIOS, Scenario, lost, rendered
from tokenmill.dialects import Envelope
from tokenmill.dialects.openai_completion import COMPLETION_BYTES, FRAME_BYTES, OPENAI_COMPLETION, CompletionState
from tokenmill.events import (
    AnyEvent,
    Finish,
    FinishReason,
    MessageStart,
    Part,
    ReasoningDelta,
    Request,
    TextDelta,
    ToolCall,
)
from tokenmill.limits import Limits

STREAMED = ("content", "reasoning_content", "refusal")


def completion(scenario: Scenario | str) -> dict[str, Any]:
    """The one object of a scenario."""
    found = SCENARIOS[scenario] if isinstance(scenario, str) else scenario
    (payload,) = rendered(found, "openai_completion").payloads
    answer: dict[str, Any] = json.loads(payload)
    return answer


def of(*events: AnyEvent, room: int = COMPLETION_BYTES, reason: FinishReason = "stop") -> tuple[dict[str, Any], bytes]:
    """The object made of these events, and its bytes."""
    start = MessageStart("q", "plain", Request(payload_bytes=room))
    state, envelope = CompletionState(), Envelope("c", "m", 0, 0, start)
    payloads = [
        payload
        for seq, event in enumerate((*events, Finish(reason)))
        for payload in OPENAI_COMPLETION.encode(state, envelope, event, seq, 0)
    ]
    return json.loads(payloads[-1]), payloads[-1]


@pytest.mark.parametrize("name", SCENARIOS)
def test_it_is_what_a_client_makes_of_the_stream(name: str) -> None:
    """The same text, calls, reason and counts, whatever befell the message."""
    streamed: dict[str, Any] = {"content": "", "reasoning_content": "", "refusal": ""}
    calls: list[list[str]] = []
    reason, error, usage = "length", None, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    for payload in rendered(SCENARIOS[name], "openai").payloads[:-1]:
        chunk = json.loads(payload)
        error, usage = chunk.get("error", error), chunk.get("usage", usage)
        for choice in chunk.get("choices", ()):
            for field in STREAMED:
                streamed[field] += choice["delta"].get(field, "")
            for call in choice["delta"].get("tool_calls", ()):
                if "id" in call:
                    calls.append([call["id"], call["function"]["name"], ""])
                calls[call["index"]][2] += call["function"]["arguments"]
            reason = choice["finish_reason"] or reason
    answer = completion(name)
    message = answer["choices"][0]["message"]
    assert {field: message.get(field) or "" for field in STREAMED} == streamed
    found = [[c["id"], c["function"]["name"], c["function"]["arguments"]] for c in message.get("tool_calls", ())]
    assert found == calls
    assert (answer["choices"][0]["finish_reason"], answer["usage"], answer.get("error")) == (reason, usage, error)
    assert answer["object"] == "chat.completion"


def test_content_is_null_only_beside_a_call() -> None:
    """An empty answer has empty content."""
    assert completion("a call alone")["choices"][0]["message"]["content"] is None
    assert completion("nothing")["choices"][0]["message"]["content"] == ""


def test_nothing_is_known_of_a_lost_message() -> None:
    """There is no object to complete."""
    assert lost("openai_completion").payloads == []


def test_it_does_not_depend_on_the_cut() -> None:
    """Where it is capped, too."""
    text = 'so "é😀\n" it is: <tool_call>{"name": "f", "arguments": {"a": "x"}}</tool_call> more'
    room = FRAME_BYTES + 14
    for limit in (COMPLETION_BYTES, *range(room, room + 60, 7)):
        whole = of(*parse(grammar("hermes"), [text])[:-1], room=limit)
        assert all(
            of(*parse(grammar("hermes"), list(cut))[:-1], room=limit) == whole for cut in list(all_cuts(text))[::9]
        )


def test_what_a_provider_wants_to_hear_again() -> None:
    """Signatures stand in their calls, fragments of reasoning are put together."""
    fragments = [
        {"type": "reasoning.text", "index": 0, "text": "Hm", "signature": None},
        {"type": "reasoning.text", "index": 0, "text": "m."},
        {"type": "reasoning.text", "index": 0, "signature": "SIG"},
    ]
    answer, _ = of(
        *(Part("reasoning_details", [fragment]) for fragment in fragments),
        Part("extra_content", {"a": 1}, "k"),
        ToolCall("k", "f", {}),
        ToolCall("l", "f", {}),
    )
    function = {"name": "f", "arguments": "{}"}
    assert answer["choices"][0]["message"] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "k", "type": "function", "function": function, "extra_content": {"a": 1}},
            {"id": "l", "type": "function", "function": function},
        ],
        "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "Hmm.", "signature": "SIG"}],
    }


def test_of_two_calls_with_one_id_the_first_has_what_was_said_of_it() -> None:
    """What comes behind a call is not of it, and takes no room of the object."""
    for said in (["s", "t"], ["", "t"]):
        events: list[AnyEvent] = []
        for value, call_id in zip(said, ("k", "k_2"), strict=True):
            events += [Part("extra_content", value, "k")] if value else []
            events += [ToolCall(call_id, "f", {})]
        calls = of(*events)[0]["choices"][0]["message"]["tool_calls"]
        assert [call.get("extra_content") for call in calls] == [said[0] or None, None]


@pytest.mark.parametrize("kind", ["reasoning.text", "reasoning.summary", "reasoning.encrypted", "other"])
@pytest.mark.parametrize(("count", "kept"), [(3, True), (99, False), (1_999, False)])
def test_fragments_of_reasoning_push_nothing_out(kind: str, count: int, kept: bool) -> None:
    """They are there if all fit beside the answer, which is whole without them."""
    room = FRAME_BYTES * 2
    parts = [
        Part("reasoning_details", [{"type": kind, "index": n, "text": "t", "summary": "s", 'é"': []}])
        for n in range(count)
    ]
    answer, payload = of(*parts, TextDelta("t", "x" * (FRAME_BYTES // 2)), room=room)
    message = answer["choices"][0]["message"]
    assert len(payload) <= room
    assert ("metadata" in answer, message["content"]) == (False, "x" * (FRAME_BYTES // 2))
    assert len(message.get("reasoning_details", ())) == (count if kept else 0)


def test_long_reasoning_is_said_once_where_it_does_not_fit_twice() -> None:
    """The answer behind it is there."""
    thought = ["r" * 1_000] * 600
    parts = [Part("reasoning_details", [{"type": "reasoning.text", "text": text, "index": 0}]) for text in thought]
    answer, _ = of(*parts, *(ReasoningDelta("r", text) for text in thought), TextDelta("t", "the answer"))
    assert answer["choices"][0]["message"] == {
        "role": "assistant",
        "content": "the answer",
        "reasoning_content": "".join(thought),
    }


def test_what_comes_first_is_kept() -> None:
    """To the character; a call is kept whole or not at all, and after the cap nothing is.

    An answer that ends with calls of which none is kept was cut off, and its client has nothing to run.
    """
    room = FRAME_BYTES + 1 + 10
    answer, _ = of(TextDelta("t", "12345"), TextDelta("t", "é😀\n9"), TextDelta("t", "x"), room=room)
    assert answer["choices"][0]["message"]["content"] == "12345é"
    assert answer["metadata"] == {"tm-truncated": "1"}
    events = ReasoningDelta("r", "12"), ToolCall("k", "f", {}), TextDelta("t", "3")
    answer, _ = of(*events, room=room, reason="tool-calls")
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "", "reasoning_content": "12"}
    assert answer["choices"][0]["finish_reason"] == "length"
    answer, _ = of(ToolCall("k", "f", {}), TextDelta("t", "3" * 99), room=room + 90, reason="tool-calls")
    assert (len(answer["choices"][0]["message"]["tool_calls"]), "metadata" in answer) == (1, True)
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    answer, _ = of(TextDelta("t", "1234567890"), room=room)
    assert "metadata" not in answer


@pytest.mark.parametrize("text", ["x", "\x01", "é", '"'])
def test_it_fits_an_output_record(text: str) -> None:
    """However JSON writes its text."""
    room = Limits().payload_bytes
    answer, payload = of(*[TextDelta("t", text * 60_000)] * 20, room=room)
    assert room - FRAME_BYTES - 10 <= len(payload) <= room
    assert answer["metadata"] == {"tm-truncated": "1"}
