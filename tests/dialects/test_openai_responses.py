"""Dialect `openai_responses`; the SDK that reads it is in `tests/judges`."""

import json
from types import NoneType
from typing import Any

import pytest

from tests.support.answered import ERROR, answered, results_in
from tests.support.scenarios import SCENARIOS, STARTED_MS, Scenario, rendered
from tokenmill.limits import Limits
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output


def frames(name: str, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(payload) for payload in rendered(SCENARIOS[name], "openai_responses", **options).payloads]


def kinds(name: str, **options: Any) -> list[str]:
    return [frame["type"].removeprefix("response.") for frame in frames(name, **options)]


def test_a_text() -> None:
    """One item with one part, which is begun, grows and is said again."""
    assert kinds("text") == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]


def test_a_call_that_comes_whole() -> None:
    """Without growth its arguments are one delta."""
    call = [frame for frame in frames("a call alone", stream_tool_input=False) if "arguments" in frame["type"]]
    assert [frame["type"] for frame in call] == [
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
    ]
    assert call[0]["delta"] == call[1]["arguments"]
    assert call[1]["name"] == "get_weather"


def test_items_are_numbered_as_they_begin() -> None:
    """Also where calls grow side by side and end in another order than text beside them."""
    added = [frame for frame in frames("calls side by side") if frame["type"] == "response.output_item.added"]
    assert [(frame["output_index"], frame["item"]["type"]) for frame in added] == [
        (0, "message"),
        (1, "function_call"),
        (2, "function_call"),
        (3, "message"),
    ]
    (*_, last) = frames("calls side by side")
    assert [item["id"] for item in last["response"]["output"]] == [frame["item"]["id"] for frame in added]


def test_ids_are_derived_from_the_message() -> None:
    """The same in every run, another for each choice."""
    assert frames("text") == frames("text")
    choice = SCENARIOS["text"]._replace(chunks=[{**chunk, "choice": 1} for chunk in SCENARIOS["text"].chunks])
    other = [json.loads(payload) for payload in rendered(choice, "openai_responses").payloads]
    assert other[0]["response"]["id"] == "message-1"
    assert other[2]["item"]["id"] != frames("text")[2]["item"]["id"]


REQUIRED: dict[str, tuple[type, ...]] = {
    "id": (str,),
    "object": (str,),
    "created_at": (int,),
    "completed_at": (int, NoneType),
    "status": (str,),
    "incomplete_details": (dict, NoneType),
    "model": (str,),
    "previous_response_id": (str, NoneType),
    "instructions": (str, NoneType),
    "output": (list,),
    "error": (dict, NoneType),
    "tools": (list,),
    "tool_choice": (str,),
    "truncation": (str,),
    "parallel_tool_calls": (bool,),
    "text": (dict,),
    "top_p": (int,),
    "presence_penalty": (int,),
    "frequency_penalty": (int,),
    "top_logprobs": (int,),
    "temperature": (int,),
    "reasoning": (dict, NoneType),
    "user": (str, NoneType),
    "usage": (dict, NoneType),
    "max_output_tokens": (int, NoneType),
    "max_tool_calls": (int, NoneType),
    "store": (bool,),
    "background": (bool,),
    "service_tier": (str,),
    "metadata": (dict,),
    "safety_identifier": (str, NoneType),
    "prompt_cache_key": (str, NoneType),
}
"""What Open Responses asks for in every response, in the revisions so far."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_response_has_all_that_readers_of_the_shape_want(name: str) -> None:
    """From its beginning to its end, which alone has a time."""
    responses = [frame["response"] for frame in frames(name) if "response" in frame]
    assert len(responses) == 3
    for response in responses:
        assert [field for field, kinds in REQUIRED.items() if type(response[field]) not in kinds] == []
    assert [response["completed_at"] for response in responses[:2]] == [None, None]
    last = responses[-1]
    assert (last["completed_at"] == STARTED_MS // 1000) is (last["status"] == "completed")


def test_what_has_to_be_sent_back_stays_with_its_reasoning() -> None:
    """A signature, or encrypted content."""
    done = [frame["item"] for frame in frames("parts of a provider") if frame["type"] == "response.output_item.done"]
    assert [item.get("encrypted_content") for item in done] == ["c2ln", None]


@pytest.mark.parametrize(
    ("thought", "expected"),
    [
        (["a", "SIG1", "b", "SIG2"], [("a", "SIG1"), ("b", "SIG2")]),
        (["a", "SIG1", "SIG2"], [("a", None)]),
        (["a", "SIG1", "SIG2", "b"], [("ab", None)]),
        (["a", "SIG1", "b"], [("a", "SIG1"), ("b", None)]),
    ],
)
def test_a_signature_is_of_all_of_its_item(thought: list[str], expected: list[tuple[str, str | None]]) -> None:
    """Thinking that follows without a text between is an item of its own; what got two signatures has none."""
    chunks: list[dict[str, Any]] = [
        {"part": {"kind": "signature", "value": said}} if "SIG" in said else {"reasoning": said} for said in thought
    ]
    last = json.loads(rendered(Scenario([*chunks, {"end": True}]), "openai_responses").payloads[-1])
    items = [item for item in last["response"]["output"] if item["type"] == "reasoning"]
    assert [(item["content"][0]["text"], item.get("encrypted_content")) for item in items] == expected


def test_the_order_of_events_of_an_item() -> None:
    """Between the beginning and the end of a response every item begins, grows and ends."""
    for name in SCENARIOS:
        open_items: dict[str, str] = {}
        for frame in frames(name)[2:-1]:
            match frame["type"].removeprefix("response."):
                case "output_item.added":
                    assert frame["item"]["id"] not in open_items
                    open_items[frame["item"]["id"]] = "open"
                case "output_item.done":
                    assert open_items.pop(frame["item"]["id"]) == "open"
                case _:
                    assert frame["item_id"] in open_items
        assert not open_items


@pytest.mark.parametrize("name", ["a broken call", "a broken call and a good one", "an unfinished call"])
def test_a_call_that_broke_off_is_none_of_the_response(name: str) -> None:
    """Its item ends, and says that it is incomplete; whoever sends back what the response holds does not send it."""
    said = frames(name)
    items = [frame["item"] for frame in said if frame["type"] == "response.output_item.done"]
    assert "incomplete" in [item["status"] for item in items]
    assert said[-1]["response"]["output"] == [item for item in items if item["status"] == "completed"]


def test_what_a_tool_answered_is_an_item() -> None:
    """It stands in the response as well; behind the end of the response there is none."""
    payloads, (good, bad) = answered("openai_responses")
    done = [each["item"] for each in results_in(payloads, "response.output_item.done")]
    items = [item for item in done if item["type"] == "function_call_output"]
    assert [(item["call_id"], item["output"]) for item in items] == [(good, "It is\nnoon."), (bad, ERROR)]
    (end,) = results_in(payloads, "response.completed")
    assert end["response"]["output"] == done
    assert b"function_call_output" not in b"".join(answered("openai_responses", late=True)[0])


@pytest.mark.parametrize(("output_bytes", "pieces"), [(450_000, 480), (200_000, 1_000), (1_000_000, 100)])
def test_a_response_ends_whatever_an_output_record_may_be(output_bytes: int, pieces: int) -> None:
    """What is said again of it has room in one: nothing that clients wait for is left out, and no number."""
    limits = Limits(output_bytes=output_bytes)
    settings = PartitionSettings(outputs=(OutputSpec("events", "openai_responses"),), codec="text", limits=limits)
    partition, out = Partition(settings, "tokens", 0), list[Output]()
    values = [*[b"x" * 1_000] * pieces, None]
    partition.process([InputRecord("tokens", 0, at, at, b"c", value, []) for at, value in enumerate(values)], out)
    said = [json.loads(output.value or b"") for output in out]
    assert [frame["sequence_number"] for frame in said] == list(range(len(said)))
    assert [frame["type"] for frame in said[-4:]] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert max(len(output.value or b"") for output in out) <= output_bytes
