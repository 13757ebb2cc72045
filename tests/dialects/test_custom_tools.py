"""Calls of tools that take a text, in the dialects of OpenAI's shapes."""

import json
from typing import Any

import pytest

from tests.support.scenarios import Scenario, rendered
from tokenmill.dialects.custom_tools import arguments_of, input_of
from tokenmill.limits import KIB, Limits

PATCH = '*** Begin Patch\n+é "quoted" \\ \U0001f980\n*** End Patch'
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("patch", "now")]


def answer(*calls: str, **options: Any) -> Scenario:
    """Calls of `patch`, which takes a text, and of others, a character at a time."""
    chunks = [{"delta": char} for char in "".join(f"<tool_call>{call}</tool_call>" for call in calls)]
    opened = {"format": "hermes", "tools": TOOLS, "custom_tools": ["patch"], **options}
    return Scenario([*chunks, {"finish_reason": "stop"}], opened)


def patch(text: str = PATCH) -> str:
    return json.dumps({"name": "patch", "arguments": {"input": text}})


NOW = '{"name": "now", "arguments": {"zone": "UTC"}}'


def frames(scenario: Scenario, dialect: str) -> list[Any]:
    payloads = rendered(scenario, dialect).payloads
    return [json.loads(payload) for payload in payloads if payload != b"[DONE]"]


@pytest.mark.parametrize("grows", [False, True])
def test_a_streamed_chat_has_the_text_in_the_member_of_its_type(grows: bool) -> None:
    """Also where arguments of other calls grow."""
    chunks = frames(answer(patch(), NOW, stream_tool_input=grows), "openai")
    calls = [call for chunk in chunks for choice in chunk["choices"] for call in choice["delta"].get("tool_calls", ())]
    assert [call["index"] for call in calls[:3]] == [0, 0, 1]
    begun, text, other = calls[:3]
    assert begun == {"index": 0, "id": begun["id"], "type": "custom", "custom": {"name": "patch", "input": ""}}
    assert text == {"index": 0, "custom": {"input": PATCH}}
    assert other["function"] == {"name": "now", "arguments": ""}
    assert json.loads("".join(call["function"]["arguments"] for call in calls[3:])) == {"zone": "UTC"}
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_a_whole_chat_has_both_kinds() -> None:
    """In their order."""
    (completion,) = frames(answer(patch(), NOW), "openai_completion")
    custom, function = completion["choices"][0]["message"]["tool_calls"]
    assert custom == {"id": custom["id"], "type": "custom", "custom": {"name": "patch", "input": PATCH}}
    assert function["function"] == {"name": "now", "arguments": '{"zone":"UTC"}'}


@pytest.mark.parametrize("grows", [False, True])
def test_a_response_has_an_item_of_its_own(grows: bool) -> None:
    """Begun, filled and ended; the response has it among the others."""
    found = frames(answer(patch(), NOW, stream_tool_input=grows), "openai_responses")
    mine = [frame for frame in found if "custom" in json.dumps(frame) and "response" not in frame]
    added, delta, done, ended = mine
    item = {"type": "custom_tool_call", "call_id": ended["item"]["call_id"], "name": "patch"}
    item |= {"id": delta["item_id"], "input": PATCH, "status": "completed"}
    assert [frame["type"].removeprefix("response.") for frame in mine] == [
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
    ]
    assert added["item"] == item | {"input": "", "status": "in_progress"}
    assert (delta["delta"], done["input"], ended["item"]) == (PATCH, PATCH, item)
    assert [each["type"] for each in found[-1]["response"]["output"]] == ["custom_tool_call", "function_call"]
    assert [frame["sequence_number"] for frame in found] == list(range(len(found)))


def test_a_text_that_is_too_long_to_repeat_is_only_in_deltas() -> None:
    """It would be a wrong one."""
    long = "x" * 60_000
    chunks = [{"delta": f"<tool_call>{patch(long)}</tool_call>"}, {"finish_reason": "stop"}]
    found = frames(Scenario(chunks, answer().open, limits=Limits(output_bytes=64 * KIB)), "openai_responses")
    assert "".join(frame["delta"] for frame in found if frame["type"].endswith("input.delta")) == long
    assert [frame["input"] for frame in found if frame["type"].endswith("input.done")] == [""]
    assert found[-1]["response"]["metadata"] == {"tm-truncated": "1"}


@pytest.mark.parametrize("dialect", ["openai", "openai_responses"])
def test_a_call_that_breaks_off_was_never_begun(dialect: str) -> None:
    """A client could not tell its text from a whole one."""
    found = frames(answer(patch()[:-12], stream_tool_input=True), dialect)
    assert not any(name in json.dumps(frame) for frame in found for name in ('"custom_tool_call"', '"tool_calls":'))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"input": "a"}, "a"),
        ({"input": ""}, ""),
        ({"input": 3}, '{"input":3}'),
        ({"text": "a"}, '{"text":"a"}'),
        ({"input": "a", "why": "b"}, '{"input":"a","why":"b"}'),
        ({}, "{}"),
    ],
)
def test_all_that_a_model_wrote_reaches_the_tool(arguments: dict[str, Any], expected: str) -> None:
    """If it is not what it was told to write, as JSON."""
    assert input_of(arguments) == expected


def test_a_call_that_is_sent_back_is_what_the_model_wrote() -> None:
    """Whatever its text."""
    assert json.loads(arguments_of(PATCH)) == {"input": PATCH}
