"""Answers of requests without `stream`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from tests.support.scenarios import SCENARIOS, lost, rendered
from tokenmill.apis import CHAT, MESSAGES, RESPONSES, Api
from tokenmill.apis.whole import joined_usage, whole_answer

JUDGES: dict[str, Any] = {"chat": ChatCompletion, "responses": Response, "messages": Message}
FAILED = ("error", "timeout")


def payloads(api: Api, name: str) -> list[bytes]:
    return rendered(SCENARIOS[name], api.whole).payloads


def whole(api: Api, by_choice: Mapping[int, Sequence[bytes]]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(whole_answer(api, by_choice))
    return answer


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("api", [CHAT, RESPONSES, MESSAGES], ids=lambda api: api.name)
def test_an_answer_of_one_choice(api: Api, name: str) -> None:
    """Strict models of its SDK take it; of a failed one Anthropic's API has an error alone."""
    done = rendered(SCENARIOS[name], api.whole)
    answer = whole(api, {0: done.payloads})
    if api is MESSAGES and done.finish.reason in FAILED:
        assert answer["type"] == "error"
    else:
        JUDGES[api.name].model_validate_json(json.dumps(answer), strict=True)


def choices(*contents: str, **fields: Any) -> dict[int, list[bytes]]:
    """Completions of so many choices, the last one first."""
    (payload,) = payloads(CHAT, "text")
    made = {}
    for index, content in reversed(list(enumerate(contents))):
        body = json.loads(payload)
        body["choices"][0] |= {"index": index, "message": {"role": "assistant", "content": content}}
        made[index] = [json.dumps(body | {name: values[index] for name, values in fields.items()}).encode()]
    return made


def test_choices_are_joined() -> None:
    """Sorted, under one id, with what all of them share said once."""
    answer = whole(CHAT, choices("a", "b", "c"))
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert [choice["message"]["content"] for choice in answer["choices"]] == ["a", "b", "c"]
    assert answer["usage"] == {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    ChatCompletion.model_validate_json(json.dumps(answer), strict=True)


def test_a_choice_that_failed_or_was_cut_says_so() -> None:
    """Beside the others."""
    answer = whole(CHAT, choices("a", "b", error=[None, {"message": "m"}], metadata=[{"tm-truncated": "1"}, None]))
    assert (answer["error"], answer["metadata"]) == ({"message": "m"}, {"tm-truncated": "1"})
    assert whole(CHAT, {0: [], 1: choices("a", "b")[1]})["choices"][0]["index"] == 1


def test_odd_text_can_be_joined() -> None:
    """Halves of surrogate pairs, and numbers that are larger than others."""
    answer = whole(CHAT, choices("\ud800", "b"))
    assert answer["choices"][0]["message"]["content"] == "\ud800"


def usage(read: int, written: int, **details: int) -> dict[str, Any]:
    counts: dict[str, Any] = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    if details:
        counts["completion_tokens_details"] = {"reasoning_tokens": details["reasoning"]}
    return counts


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([usage(0, 0), usage(0, 0)], usage(0, 0)),
        ([usage(5, 7), usage(5, 7)], usage(5, 7)),
        ([usage(0, 0), usage(5, 7)], usage(5, 7)),
        ([usage(5, 7), usage(5, 8)], usage(5, 15)),
        ([usage(5, 7, reasoning=3), usage(5, 8, reasoning=2)], usage(5, 15, reasoning=5)),
        (
            [{**usage(5, 7), "prompt_tokens_details": {"cached_tokens": 4}}, usage(4, 8)],
            {**usage(5, 15), "prompt_tokens_details": {"cached_tokens": 4}},
        ),
    ],
)
def test_counts_of_choices_are_joined(told: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    """Those of all together count once; those of each are added up, but for the prompt."""
    assert joined_usage(told) == expected


def test_a_lost_response_is_an_error() -> None:
    """There is no response to show."""
    answer = whole(RESPONSES, {0: lost("openai_responses").payloads})
    assert answer["error"]["message"] == "the log no longer holds its beginning"
    assert answer["error"]["type"] == "server_error"


@pytest.mark.parametrize("api", [CHAT, RESPONSES, MESSAGES], ids=lambda api: api.name)
def test_nothing_is_no_answer(api: Api) -> None:
    """Its caller waits for all choices."""
    with pytest.raises(ValueError, match="no choice has ended"):
        whole_answer(api, {0: []})


def sent_back(name: str) -> dict[str, list[Any]]:
    """What a client of each API sends of an answer with its next request, as its SDK writes it."""
    done = {api.name: whole_answer(api, {0: payloads(api, name)}) for api in (CHAT, RESPONSES, MESSAGES)}
    completion = ChatCompletion.model_validate_json(done["chat"])
    response = Response.model_validate_json(done["responses"])
    message = Message.model_validate_json(done["messages"])
    return {
        "chat": [completion.choices[0].message.model_dump()],
        "responses": [item.model_dump() for item in response.output],
        "messages": [{"role": "assistant", "content": [block.model_dump() for block in message.content]}],
    }


@pytest.mark.parametrize("name", ["reasoning, text and a call", "two calls with text around", "parts of a provider"])
def test_an_answer_can_be_sent_back(name: str) -> None:
    """Every API reads the same conversation out of its own."""
    back, user = sent_back(name), {"role": "user", "content": "And?"}
    asked = [
        CHAT.read({"model": "m", "messages": [*back["chat"], user]}),
        RESPONSES.read({"model": "m", "input": [*back["responses"], user]}),
        MESSAGES.read({"model": "m", "max_tokens": 9, "messages": [*back["messages"], user]}),
    ]
    for ask in asked:
        assert [message["role"] for message in ask.messages][-1] == "user"
        assert {message["role"] for message in ask.messages[:-1]} == {"assistant"}
    calls = [[call["function"] for each in ask.messages for call in each.get("tool_calls", ())] for ask in asked]
    called = [[(call["name"], json.loads(call["arguments"])) for call in each] for each in calls]
    assert called[0] == called[1] == called[2]
    thought = ["".join(each.get("reasoning_content", "") for each in ask.messages) for ask in asked]
    assert thought[0] == thought[1] == thought[2]
