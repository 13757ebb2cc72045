"""Dialect `openai`; what the SDK of OpenAI makes of it is in `judges`."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.support.scenarios import SCENARIOS, WEATHER, Scenario, lost, rendered
from tokenmill.dialects.openai import OPENAI, OpenAIState
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.partition.message import Open
from tokenmill.records import InputRecord, Output

GROWING = {"stream_tool_input": True}
CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}</tool_call>'


SIGNATURE = {"google": {"thought_signature": "SIG"}}
SIGNED_CALLS: Sequence[dict[str, Any]] = [
    {"part": {"kind": "extra_content", "value": SIGNATURE, "id": "call_0"}},
    *(
        {"tool_calls": [{"index": index, "id": f"call_{index}", "function": {"name": "f", "arguments": "{}"}}]}
        for index in (0, 1)
    ),
]


def frames(scenario: Scenario | str, **options: Any) -> list[Any]:
    """The payloads, `[DONE]` as a string."""
    found = SCENARIOS[scenario] if isinstance(scenario, str) else scenario
    return [_read(payload) for payload in rendered(found, "openai", **options).payloads]


def _read(payload: bytes) -> Any:
    return "[DONE]" if payload == b"[DONE]" else json.loads(payload)


def deltas(payloads: Sequence[Any]) -> list[dict[str, Any]]:
    """The deltas of chunks with choices."""
    return [choice["delta"] for chunk in payloads if chunk != "[DONE]" for choice in chunk.get("choices", ())]


def text_and_calls(*texts: str) -> Scenario:
    """A message of these pieces, with the counts of its tokens."""
    chunks = [{"delta": text} for text in texts]
    return Scenario([*chunks, {"usage": {"input_tokens": 25, "output_tokens": 1}}, {"finish_reason": "stop"}])


def test_counts_of_tokens_can_be_left_out() -> None:
    """Clients that did not ask for them look into `choices` of every chunk."""
    scenario = text_and_calls("Hello")
    for asked in (True, False):
        opened = scenario._replace(open={**scenario.open, "include_usage": asked})
        assert [chunk["usage"] for chunk in frames(opened)[:-1] if not chunk["choices"]] == (
            [{"prompt_tokens": 25, "completion_tokens": 1, "total_tokens": 26}] if asked else []
        )


def test_the_five_chunks_of_an_answer_with_a_call() -> None:
    """Text, start of the call, its arguments, finish, counts; then the end. The role comes once."""
    chunks = frames(text_and_calls("I'll look.\n\n", *CALL, "\n"))
    head = {key: chunks[0][key] for key in ("id", "object", "created", "model")}
    assert head | {"id": ""} == {
        "id": "",
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": "some-model",
    }
    assert all(head.items() <= chunk.items() for chunk in chunks[:-1])
    assert [chunk["choices"] for chunk in chunks[:-1]] == [
        [{"index": 0, "delta": {"role": "assistant", "content": "I'll look."}, "finish_reason": None}],
        [
            {
                "index": 0,
                "delta": {
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": chunks[1]["choices"][0]["delta"]["tool_calls"][0]["id"],
                            "type": "function",
                            "function": {"name": "get_weather", "arguments": ""},
                        }
                    ]
                },
                "finish_reason": None,
            }
        ],
        [
            {
                "index": 0,
                "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":"Oslo","days":3}'}}]},
                "finish_reason": None,
            }
        ],
        [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
        [],
    ]
    assert chunks[-2]["usage"] == {"prompt_tokens": 25, "completion_tokens": 1, "total_tokens": 26}
    assert chunks[-1] == "[DONE]"


def test_arguments_grow_where_the_message_asks_for_it() -> None:
    """The pieces joined are the arguments."""
    said = deltas(frames(text_and_calls(*CALL), **GROWING))
    calls = [delta["tool_calls"][0] for delta in said if "tool_calls" in delta]
    assert [call.get("id") is not None for call in calls] == [True] + [False] * (len(calls) - 1)
    pieces = [call["function"]["arguments"] for call in calls]
    assert len(pieces) == 10
    assert json.loads("".join(pieces)) == {"city": "Oslo", "days": 3}


@pytest.mark.parametrize("options", [{}, GROWING], ids=["whole", "growing"])
@pytest.mark.parametrize(
    ("name", "shown"), [("a broken call", True), ("an unfinished call", False), ("the limit of a call", True)]
)
def test_a_call_that_fails_is_never_one(
    name: str, shown: bool, options: dict[str, Any]
) -> None:  # a column of the table
    """Its source is content, but for one that the end of the tokens cut off; arguments that were shown are no JSON."""
    said = deltas(frames(name, **options))
    assert ("<tool_call>" in "".join(delta.get("content") or "" for delta in said)) is shown
    calls = [call for delta in said for call in delta.get("tool_calls", ())]
    assert bool(calls) == bool(options)
    if calls:
        with pytest.raises(json.JSONDecodeError):
            json.loads("".join(call["function"]["arguments"] for call in calls))


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("options", [{}, GROWING], ids=["whole", "growing"])
def test_every_message_is_a_valid_stream(name: str, options: dict[str, Any]) -> None:
    """One role, one finish or error, contiguous indexes of calls, `[DONE]` at the end and nowhere else."""
    chunks = frames(name, **options)
    assert chunks.index("[DONE]") == len(chunks) - 1
    said = deltas(chunks)
    ends = [choice["finish_reason"] for chunk in chunks[:-1] for choice in chunk.get("choices", ())]
    errors = [chunk for chunk in chunks[:-1] if "error" in chunk]
    assert len([end for end in ends if end]) + len(errors) == 1
    assert sum("role" in delta for delta in said) == (1 if said else 0)
    begun = [call["index"] for delta in said for call in delta.get("tool_calls", ()) if "id" in call]
    assert begun == list(range(len(begun)))


def test_a_failure_is_told_in_place_of_the_finish() -> None:
    """In the provider's words."""
    *_, failed, done = frames("the provider fails")
    assert (failed["error"]["message"], failed["error"]["type"], done) == ("out of memory", "stream_error", "[DONE]")
    *_, failed, done = frames("timed out inside a call")
    assert (failed["error"]["code"], done) == ("timeout", "[DONE]")
    *_, failed, done = (_read(payload) for payload in lost("openai").payloads)
    assert (failed["error"]["code"], done) == ("state-lost", "[DONE]")


def test_reasoning_and_refusals_have_fields_of_their_own() -> None:
    """Other content of a provider has none."""
    said = deltas(frames("parts of a provider"))
    assert said == [{"role": "assistant", "reasoning_content": "Hm"}, {"refusal": "I can't."}, {}]


@pytest.mark.parametrize("options", [{}, GROWING])
def test_what_a_provider_wants_to_hear_again(options: dict[str, Any]) -> None:
    """Signatures with the first chunk of their calls, where clients look for them, and reasoning as it came."""
    details = [{"type": "reasoning.encrypted", "data": "ENC", "index": 0}]
    chunks = [{"part": {"kind": "reasoning_details", "value": details}}, *SIGNED_CALLS, {"end": True}]
    thought, *said = deltas(frames(Scenario(chunks), **options))
    assert thought == {"role": "assistant", "reasoning_details": details}
    begun = [call for delta in said for call in delta.get("tool_calls", ()) if "id" in call]
    assert [call.get("extra_content") for call in begun] == [SIGNATURE, None]


def test_fragments_of_reasoning_have_an_index() -> None:
    """OpenAI's SDK puts them together by it, and raises where one has none."""
    values = [[{"type": "reasoning.text", "text": "a"}], ["x"], [{"type": "reasoning.text", "text": "b"}]]
    said = deltas(frames(Scenario([{"part": {"kind": "reasoning_details", "value": value}} for value in values])))
    found = [delta["reasoning_details"] for delta in said if "reasoning_details" in delta]
    assert found == [[{"type": "reasoning.text", "text": text, "index": 0}] for text in "ab"]


def test_counts_come_only_where_the_provider_gave_some() -> None:
    """No zeros are made up."""
    assert [chunk for chunk in frames("a call alone")[:-1] if not chunk["choices"]] == []


def process(*chunks: dict[str, Any]) -> list[Any]:
    """Payloads of chunks of one message."""
    partition, out = Partition(PartitionSettings(outputs=(OutputSpec("wire", "openai"),)), "tokens", 0), list[Output]()
    for offset, chunk in enumerate(chunks):
        value = msgspec.json.encode({"message_id": "m", **chunk})
        partition.process([InputRecord("tokens", 0, offset, 1_000 * offset, b"c", value)], out)
    return [_read(output.value or b"") for output in out]


def test_choices_share_one_stream() -> None:
    """Each has its index; the stream ends with the last of them."""
    chunks = process(
        {"delta": "a", "open": {}},
        {"delta": "b", "choice": 1},
        {"finish_reason": "stop"},
        {"delta": "c", "choice": 1},
        {"finish_reason": "length", "choice": 1},
    )
    said = [(choice["index"], choice["delta"], choice["finish_reason"]) for c in chunks[:-1] for choice in c["choices"]]
    assert said == [
        (0, {"role": "assistant", "content": "a"}, None),
        (1, {"role": "assistant", "content": "b"}, None),
        (0, {}, "stop"),
        (1, {"content": "c"}, None),
        (1, {}, "length"),
    ]
    assert len({(chunk["id"]) for chunk in chunks[:-1]}) == 1
    assert chunks.count("[DONE]") == 1


def test_a_cancelled_message_of_several_choices_ends_once() -> None:
    """All end with the same record."""
    chunks = process({"delta": "a", "open": {}}, {"delta": "b", "choice": 1}, {"control": "cancel"})
    assert chunks.count("[DONE]") == 1
    assert chunks[-1] == "[DONE]"


def test_long_arguments_are_divided() -> None:
    """No payload is larger than an output record may be."""
    payloads = rendered(SCENARIOS["a long argument"], "openai").payloads
    assert max(map(len, payloads)) < 400_000
    calls = [call for delta in deltas([_read(payload) for payload in payloads]) for call in delta.get("tool_calls", ())]
    assert len(calls) > 2
    assert json.loads("".join(call["function"]["arguments"] for call in calls))["days"] == 3


def test_the_state_is_plain() -> None:
    """It is encoded in snapshots, with calls that grow."""
    partition, out = (
        Partition(PartitionSettings(outputs=(OutputSpec("wire", "openai"),)), "tokens", 0),
        list[Output](),
    )
    opening = {"format": "hermes", "tools": [WEATHER], **GROWING}
    value = msgspec.json.encode({"open": opening, "delta": "a " + CALL[:60]})
    partition.process([InputRecord("tokens", 0, 0, 0, b"c", value)], out)
    (message,) = partition._messages
    going = message.choices[0].state
    assert isinstance(going, Open)
    (state,) = going.states
    assert isinstance(state, OpenAIState)
    assert state.open
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=OPENAI.state_type) == state
