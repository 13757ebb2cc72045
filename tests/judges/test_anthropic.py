"""The Python SDK of Anthropic reads the dialects `anthropic` and `anthropic_message`."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from anthropic import Anthropic, APIStatusError
from anthropic.types import ErrorResponse, Message, RawMessageStreamEvent
from pydantic import TypeAdapter

from tests.support.judging import serving, sse
from tests.support.scenarios import SCENARIOS, Rendered, lost, rendered
from tokenmill.dialects.anthropic import STOP_REASONS

CLIENT = Anthropic(base_url="http://127.0.0.1", api_key="x", max_retries=0)
EVENT: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)

MODES = [pytest.param({}, id="whole"), pytest.param({"stream_tool_input": True}, id="growing")]
FAILED = ("error", "timeout")
"""Reasons for which the stream ends with an `error`."""


def read(payloads: Sequence[bytes], *, named: bool = True) -> Message:
    """The message that the SDK makes of a stream."""
    with (
        serving(sse(payloads, named=named)) as url,
        CLIENT.with_options(base_url=url).messages.stream(
            model="m", max_tokens=10, messages=[{"role": "user", "content": "?"}]
        ) as stream,
    ):
        return stream.get_final_message()


def blocks(message: Message, kind: str) -> list[Any]:
    return [block for block in message.content if block.type == kind]


def check(done: Rendered, message: Message) -> None:
    """What the client shows is what happened."""
    text = done.shown + "".join(done.parts("refusal"))
    assert "".join(block.text for block in blocks(message, "text")) == text
    assert "".join(block.thinking for block in blocks(message, "thinking")) == done.reasoning
    calls = [(block.id, block.name, block.input) for block in blocks(message, "tool_use")]
    assert [call for call in calls if call in done.calls] == done.calls
    nothing_to_run = done.finish.reason == "tool-calls" and not blocks(message, "tool_use")
    assert message.stop_reason == ("end_turn" if nothing_to_run else STOP_REASONS[done.finish.reason])
    assert message.model == "some-model"


@pytest.mark.parametrize("options", MODES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_client_shows_what_happened(name: str, options: dict[str, Any]) -> None:
    """Text, thinking, calls and the reason, whatever befell the message; the last frame says that it is over."""
    done = rendered(SCENARIOS[name], "anthropic", **options)
    last = json.loads(done.payloads[-1])
    for payload in done.payloads[: -1 if last["type"] == "error" else None]:
        EVENT.validate_json(payload)
    if done.finish.reason in FAILED:
        assert last["type"] == "error"
        with pytest.raises(APIStatusError, match=last["error"]["message"]):
            read(done.payloads)
    else:
        assert last == {"type": "message_stop"}
        check(done, read(done.payloads))


@pytest.mark.parametrize("name", SCENARIOS)
def test_without_growth_a_call_that_breaks_off_is_not_seen(name: str) -> None:
    """Only complete calls have a block."""
    done = rendered(SCENARIOS[name], "anthropic")
    starts = [json.loads(payload) for payload in done.payloads if b'"content_block_start"' in payload]
    used = [start["content_block"]["id"] for start in starts if start["content_block"]["type"] == "tool_use"]
    assert used == [call_id for call_id, _, _ in done.calls]


def test_arguments_grow_where_it_is_asked_for() -> None:
    """The text of an argument comes as the model writes it, not at the end."""
    scenario = SCENARIOS["a call in another notation"]
    whole, growing = rendered(scenario, "anthropic"), rendered(scenario, "anthropic", stream_tool_input=True)
    assert sum(b"input_json_delta" in payload for payload in whole.payloads) == 1
    assert sum(b"input_json_delta" in payload for payload in growing.payloads) > len("Paris")


@pytest.mark.parametrize("options", MODES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_whole_answer_is_one_of_its_messages(name: str, options: dict[str, Any]) -> None:
    """Strict models take it; one that failed is an error."""
    done = rendered(SCENARIOS[name], "anthropic_message", **options)
    (payload,) = done.payloads
    if done.finish.reason in FAILED:
        ErrorResponse.model_validate({"request_id": None, **json.loads(payload)}, strict=True)
    else:
        check(done, Message.model_validate_json(payload, strict=True))
        Message.model_validate(json.loads(payload), strict=True)


def test_counts_of_tokens_arrive() -> None:
    """With the last delta, over those of the start."""
    usage = read(rendered(SCENARIOS["text"], "anthropic").payloads).usage
    assert (usage.input_tokens, usage.output_tokens) == (5, 7)


def test_a_signature_stays_with_its_thinking() -> None:
    """So that a client can send the thinking back."""
    message = read(rendered(SCENARIOS["parts of a provider"], "anthropic").payloads)
    assert [block.signature for block in blocks(message, "thinking")] == ["c2ln"]
    assert [block.data for block in blocks(message, "redacted_thinking")] == ["b3BhcXVl"]


def test_a_lost_message_ends_with_an_error() -> None:
    """What was shown stays, and the client is told."""
    with pytest.raises(APIStatusError, match="no longer holds"):
        read(lost("anthropic").payloads)


# The judge judges: faults that it must see


def faulty(*changes: tuple[str, str]) -> list[bytes]:
    payloads = rendered(SCENARIOS["a call alone"], "anthropic").payloads
    for old, new in changes:
        assert any(old.encode() in payload for payload in payloads)
        payloads = [payload.replace(old.encode(), new.encode()) for payload in payloads]
    return payloads


def test_the_judge_sees_invalid_arguments() -> None:
    """Joined, they are no JSON."""
    with pytest.raises(ValueError, match="parse tool parameter JSON"):
        read(faulty((r"\"days\":3", r"days:3")))


def test_the_judge_sees_a_wrong_order() -> None:
    """A block before the message."""
    payloads = rendered(SCENARIOS["text"], "anthropic").payloads
    with pytest.raises((AssertionError, LookupError, RuntimeError)):
        read([payloads[1], payloads[0], *payloads[2:]])


def test_the_judge_sees_missing_names_of_events() -> None:
    """Frames without the line `event:` are none to it."""
    with pytest.raises(AssertionError):
        read(rendered(SCENARIOS["text"], "anthropic").payloads, named=False)


def test_the_judge_sees_an_unknown_kind_of_delta() -> None:
    """The strict models refuse what the shape has not."""
    (payload,) = (payload for payload in faulty(("input_json_delta", "other_delta")) if b"other_delta" in payload)
    with pytest.raises(ValueError, match="other_delta"):
        EVENT.validate_json(payload)
