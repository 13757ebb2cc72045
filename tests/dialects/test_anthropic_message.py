"""Dialect `anthropic_message`; the SDK that reads it is in `tests/judges`."""

import json
from typing import Any

import pytest

from tests.support.parsing import all_cuts, grammar, parse
from tests.support.scenarios import SCENARIOS, lost, rendered
from tokenmill.dialects import Envelope
from tokenmill.dialects.anthropic_message import ANTHROPIC_MESSAGE, BLOCK_BYTES, AnthropicMessageState
from tokenmill.dialects.openai_completion import COMPLETION_BYTES, FRAME_BYTES
from tokenmill.events import (
    AnyEvent,
    Finish,
    FinishReason,
    MessageStart,
    Part,
    ReasoningDelta,
    Request,
    TextDelta,
    TextStart,
    ToolCall,
)
from tokenmill.limits import Limits


def of(*events: AnyEvent, room: int = COMPLETION_BYTES, reason: FinishReason = "stop") -> tuple[dict[str, Any], bytes]:
    """The object made of these events, and its bytes."""
    start = MessageStart("q", "plain", Request(payload_bytes=room, stream_tool_input=True))
    state, envelope = AnthropicMessageState(), Envelope("c", "m", 0, 0, start)
    payloads = [
        payload
        for seq, event in enumerate((*events, Finish(reason)))
        for payload in ANTHROPIC_MESSAGE.encode(state, envelope, event, seq, 0)
    ]
    return json.loads(payloads[-1]), payloads[-1]


def folded(payloads: list[bytes]) -> dict[str, Any]:
    """What a client makes of the stream."""
    message: dict[str, Any] = {}
    for said in map(json.loads, payloads):
        match said["type"]:
            case "message_start":
                message = said["message"]
            case "content_block_start":
                message["content"].append(said["content_block"])
            case "content_block_delta":
                block, delta = message["content"][said["index"]], said["delta"]
                kind = delta["type"].removesuffix("_delta")
                if kind == "input_json":
                    block["text"] = block.get("text", "") + delta["partial_json"]
                else:
                    block[kind] += delta[kind]
            case "message_delta":
                message |= {**said["delta"], "usage": said["usage"]}
            case "error":
                message = {"content": (), **said}
    for block in message["content"]:
        if block["type"] == "tool_use":
            block["input"] = json.loads(block.pop("text"))
    return {name: value for name, value in message.items() if value != ()}


@pytest.mark.parametrize("options", [{}, {"stream_tool_input": True}], ids=["whole", "growing"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_it_is_what_a_client_makes_of_the_stream(name: str, options: dict[str, Any]) -> None:
    """The same blocks, reason and counts, whatever befell the message; calls are complete."""
    (payload,) = rendered(SCENARIOS[name], "anthropic_message", **options).payloads
    assert json.loads(payload) == folded(rendered(SCENARIOS[name], "anthropic").payloads)


def test_a_lost_message_is_an_error() -> None:
    """Its client is told why."""
    (payload,) = lost("anthropic_message").payloads
    assert json.loads(payload)["error"]["message"] == "the log no longer holds its beginning"


@pytest.mark.parametrize(
    ("deltas", "text"),
    [
        (["a", "\ud83d\ude00"], "a😀"),
        (["a", "\ud83d", "\ude00"], "a\ud83d\ude00"),
        (["\ud83d\ude00", "\udfff"], "😀\udfff"),
    ],
)
def test_half_characters_are_those_of_the_stream(deltas: list[str], text: str) -> None:
    """Two that came together are one character there, so they are here; others stay halves."""
    events = [TextDelta("t", delta) for delta in deltas]
    state, envelope = AnthropicMessageState(), Envelope("c", "m", 0, 0)
    for seq, event in enumerate(events):
        ANTHROPIC_MESSAGE.encode(state, envelope, event, seq, 0)
    assert [block.said.text() for block in state.blocks] == [text]


def test_text_of_a_call_that_was_cut_off_is_not_shown() -> None:
    """Not in a block that something else has opened, either."""
    answer, _ = of(TextStart("t", cut=True), Part("refusal", "no"), TextDelta("t", '{"a":'))
    assert answer["content"] == [{"type": "text", "text": "no"}]


def test_it_does_not_depend_on_the_cut() -> None:
    """Where it is capped, too."""
    text = 'so "é😀\n" it is: <tool_call>{"name": "f", "arguments": {"a": "x"}}</tool_call> more'
    room = FRAME_BYTES + BLOCK_BYTES + 14
    for limit in (COMPLETION_BYTES, *range(room, room + 300, 17)):
        whole = of(*parse(grammar("hermes"), [text])[:-1], room=limit)
        assert all(
            of(*parse(grammar("hermes"), list(cut))[:-1], room=limit) == whole for cut in list(all_cuts(text))[::9]
        )


def test_what_comes_first_is_kept() -> None:
    """To the character; a call and a signature are kept whole or not at all, and after the cap nothing is.

    An answer that ends with calls of which none is kept was cut off, and its client has nothing to run.
    """
    room = FRAME_BYTES + 1 + BLOCK_BYTES + 10
    answer, _ = of(TextDelta("t", "12345"), TextDelta("t", "é😀\n9"), TextDelta("t", "x"), room=room)
    assert answer["content"] == [{"type": "text", "text": "12345é"}]
    assert answer["metadata"] == {"tm-truncated": "1"}
    answer, _ = of(ReasoningDelta("r", "12"), Part("signature", "x" * 9), TextDelta("t", "3"), room=room)
    assert answer["content"] == [{"type": "thinking", "thinking": "12", "signature": ""}]
    call = ToolCall("k", "f", {"a": "x" * 9})
    answer, _ = of(TextDelta("t", "1"), call, TextDelta("t", "3"), room=room + BLOCK_BYTES, reason="tool-calls")
    assert answer["content"] == [{"type": "text", "text": "1"}]
    assert answer["stop_reason"] == "max_tokens"
    answer, _ = of(call, TextDelta("t", "3" * 99), room=room + BLOCK_BYTES + 9, reason="tool-calls")
    assert ([block["type"] for block in answer["content"]], "metadata" in answer) == (["tool_use"], True)
    assert answer["stop_reason"] == "tool_use"
    answer, _ = of(TextDelta("t", "1234567890"), room=room)
    assert "metadata" not in answer


def test_thinking_has_its_signature() -> None:
    """Each block its own, also where nothing of it is shown; citations have no place."""
    events: list[AnyEvent] = [
        Part("signature", "1"),
        ReasoningDelta("r", "two"),
        Part("signature", "2"),
        TextDelta("t", "a"),
    ]
    answer, _ = of(*events, Part("citation", {"type": "char_location"}))
    assert answer["content"] == [
        {"type": "thinking", "thinking": "", "signature": "1"},
        {"type": "thinking", "thinking": "two", "signature": "2"},
        {"type": "text", "text": "a"},
    ]
    answer, _ = of(TextDelta("t", "1"), Part("signature", "x" * 99), room=FRAME_BYTES + 2 * BLOCK_BYTES + 10)
    assert answer["content"] == [{"type": "text", "text": "1"}]


@pytest.mark.parametrize("text", ["x", "\x01", "é", '"'])
def test_it_fits_an_output_record(text: str) -> None:
    """However JSON writes its text."""
    room = Limits().payload_bytes
    answer, payload = of(*[TextDelta("t", text * 60_000)] * 20, room=room)
    assert room - FRAME_BYTES - 200 <= len(payload) <= room
    assert answer["metadata"] == {"tm-truncated": "1"}


def test_arguments_are_values() -> None:
    """Odd ones included."""
    arguments = {"a": [1, None, 2**70, float("inf")], "b": {"c": "é\n\ud800"}}
    answer, _ = of(ToolCall("k", "f", arguments))
    assert answer["content"] == [
        {
            "type": "tool_use",
            "id": "k",
            "name": "f",
            "input": {"a": [1, None, 2**70, None], "b": {"c": "é\n\ud800"}},
        }
    ]


def test_its_memory_is_told() -> None:
    """It grows with the answer."""
    state, envelope = AnthropicMessageState(), Envelope("c", "m", 0, 0)
    ANTHROPIC_MESSAGE.encode(state, envelope, TextDelta("t", "x" * 5000), 0, 0)
    assert 5000 <= state.memory < 6000
