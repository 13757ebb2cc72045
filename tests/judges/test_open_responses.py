"""The points of the Open Responses compliance suite, each asked of the front, and judged by the schema's own models.

The suite itself is a program for Bun in a repository and no package. What each of its points came to is in
docs/topics/open-responses.md.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any
from uuid import uuid4

import httpx
import pytest
from openresponses_types import types
from pydantic import BaseModel

from tests.support.sdk_stack import PLACE, WORDS, SdkStack, asked_of, sdk_stack

pytestmark = pytest.mark.integration

TOOL = {
    "type": "function",
    "name": "find_weather",
    "description": "The weather somewhere",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

PIXEL = f"data:image/png;base64,{_PNG}"

RENAMED = {
    "response.reasoning_text.delta": "response.reasoning.delta",
    "response.reasoning_text.done": "response.reasoning.done",
}
"""What OpenAI calls events of reasoning, and the front with it, and what the schema calls them."""


def _events() -> Mapping[str, type[BaseModel]]:
    found: dict[str, type[BaseModel]] = {}
    for name, model in vars(types).items():
        if name.endswith("StreamingEvent"):
            kind = model.model_fields["type"].annotation
            assert issubclass(kind, StrEnum)
            (value,) = kind
            found[value.value] = model
    return found


EVENTS = _events()
"""The models of events, by their types."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, kafka: str, redis_url: str) -> Iterator[SdkStack]:
    """A front, a worker and the model servers."""
    with sdk_stack(tmp_path_factory.mktemp("open-responses"), kafka, redis_url) as stack:
        yield stack


class Asked:
    """One request, and what the model's server saw of it."""

    def __init__(self, stack: SdkStack, items: Sequence[Mapping[str, Any]], **fields: Any) -> None:
        self._stack = stack
        self._mark = str(uuid4())
        marked = [*items[:-1], _marked(items[-1], self._mark)]
        self.answer = _post(stack, {"model": "hermes", "input": marked, **fields})

    @property
    def messages(self) -> list[Any]:
        """The conversation as the model saw it, in one generation."""
        (generation,) = self._stack.generations("hermes", self._mark)
        return list(asked_of(generation.body)["messages"])

    @property
    def response(self) -> Any:
        """The whole answer, which the schema's model has taken."""
        assert self.answer.status_code == 200, self.answer.text
        types.ResponseResource.model_validate(self.answer.json())
        return self.answer.json()

    @property
    def events(self) -> list[Any]:
        """Those of a stream: each of its model, under its name, and in its place."""
        assert self.answer.headers["content-type"].startswith("text/event-stream")
        blocks = [block.split("\n") for block in self.answer.text.split("\n\n") if "data:" in block]
        fields = [dict(line.split(": ", 1) for line in block if line[:1] != ":") for block in blocks]
        events = [json.loads(each["data"]) for each in fields]
        assert [each["event"] for each in fields] == [event["type"] for event in events]
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        for event in events:
            kind = RENAMED.get(event["type"], event["type"])
            EVENTS[kind].model_validate(event | {"type": kind})
        return events


def _post(stack: SdkStack, body: Mapping[str, Any]) -> httpx.Response:
    return httpx.post(f"{stack.url}/v1/responses", json=body, headers={"authorization": "Bearer x"}, timeout=30)


def _marked(item: Mapping[str, Any], mark: str) -> Mapping[str, Any]:
    """An item by which its request is known."""
    name = "output" if "output" in item else "content"
    value = item[name]
    return {**item, name: f"{value} {mark}" if isinstance(value, str) else [*value, _text(mark)]}


def _text(text: str) -> dict[str, str]:
    return {"type": "input_text", "text": text}


def say(role: str, content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def called(response: Any) -> Any:
    """The only call of a response."""
    (call,) = [item for item in response["output"] if item["type"] == "function_call"]
    assert (call["name"], json.loads(call["arguments"])) == ("find_weather", PLACE)
    return call


def test_basic_response(stack: SdkStack) -> None:
    """`basic-response`: a completed response with a message in it."""
    response = Asked(stack, [say("user", "Greet me.")]).response
    (item,) = response["output"]
    assert (response["status"], item["status"], item["content"][0]["text"]) == ("completed", "completed", WORDS)


def test_streaming_response(stack: SdkStack) -> None:
    """`streaming-response`: every event in its order and shape; the last one has the whole response."""
    events = Asked(stack, [say("user", "Count.")], stream=True).events
    kinds = [event["type"].removeprefix("response.") for event in events if not event["type"].endswith("delta")]
    ends = ["output_text.done", "content_part.done", "output_item.done", "completed"]
    assert kinds == ["created", "in_progress", "output_item.added", "content_part.added", *ends]
    assert "".join(event.get("delta", "") for event in events) == WORDS
    types.ResponseResource.model_validate(events[-1]["response"])
    assert events[-1]["response"]["status"] == "completed"


@pytest.mark.parametrize("role", ["system", "developer"])
def test_system_prompt(stack: SdkStack, role: str) -> None:
    """`system-prompt`: an instruction among the messages comes to the model, and a developer's as the system's."""
    asked = Asked(stack, [say(role, "Talk like a sailor."), say("user", "Greet me.")])
    assert asked.response["status"] == "completed"
    first, second = asked.messages
    assert (first["role"], first["content"], second["role"]) == ("system", "Talk like a sailor.", "user")


def test_tool_calling(stack: SdkStack) -> None:
    """`tool-calling`: a declared function is called, by an item of its own."""
    response = Asked(stack, [say("user", "How is the weather?")], tools=[TOOL]).response
    assert called(response)["status"] == "completed"


def test_tool_calling_streaming(stack: SdkStack) -> None:
    """`tool-calling-streaming`: the item is added, its arguments grow and are said again, and it is done."""
    events = Asked(stack, [say("user", "How is the weather?")], tools=[TOOL], stream=True).events
    added = next(event for event in events if event["type"] == "response.output_item.added")
    assert added["item"]["type"] == "function_call"
    deltas = [each["delta"] for each in events if each["type"] == "response.function_call_arguments.delta"]
    (done,) = [each for each in events if each["type"] == "response.function_call_arguments.done"]
    assert "".join(deltas) == done["arguments"]
    ended = [each["item"]["type"] for each in events if each["type"] == "response.output_item.done"]
    assert ended == ["function_call"]
    called(events[-1]["response"])


def test_function_call_roundtrip(stack: SdkStack) -> None:
    """`function-call-roundtrip`: a function that has to be called is, and the whole conversation is answered."""
    question, choice = say("user", "How is the weather?"), {"type": "function", "name": "find_weather"}
    first = Asked(stack, [question], tools=[TOOL], tool_choice=choice).response
    call = called(first)
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "Clear."}
    asked = Asked(stack, [question, *first["output"], result], tools=[TOOL])
    assert asked.response["output"][0]["content"][0]["text"] == WORDS
    _, assistant, tool = asked.messages
    assert assistant["tool_calls"][0]["id"] == tool["tool_call_id"] == call["call_id"]


def test_image_input(stack: SdkStack) -> None:
    """`image-input`: an image comes to a server that takes messages."""
    content = [_text("What is this?"), {"type": "input_image", "image_url": PIXEL}]
    asked = Asked(stack, [say("user", content)])
    assert asked.response["status"] == "completed"
    (message,) = asked.messages
    assert [part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url"] == [PIXEL]


def test_multi_turn(stack: SdkStack) -> None:
    """`multi-turn`: the assistant's messages are part of the conversation that the model sees."""
    items = [say("user", "I am Ann."), say("assistant", "Hello Ann."), say("user", "Who am I?")]
    asked = Asked(stack, items)
    assert asked.response["status"] == "completed"
    assert [each["role"] for each in asked.messages] == ["user", "assistant", "user"]
    assert asked.messages[1]["content"] == "Hello Ann."


def test_reasoning_has_the_names_of_openai(stack: SdkStack) -> None:
    """No point of the suite: events of reasoning are those of the schema but for their names."""
    events = Asked(stack, [say("user", "Plan it.")], tools=[TOOL], stream=True).events
    assert {event["type"] for event in events} >= RENAMED.keys()


REFUSED: Mapping[str, tuple[dict[str, Any], str]] = {
    "file-input": ({"input": [say("user", [{"type": "input_file", "file_data": "data:,x"}])]}, "input[0].content[0]"),
    "previous-response-id": ({"previous_response_id": "resp_1"}, "previous_response_id"),
    "file-search": ({"tools": [{"type": "file_search", "vector_store_ids": ["v"]}]}, "tools[0].type"),
    "offline-web-search": ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
}
"""Points that are not had, what asks for them, and the field that the refusal names."""


@pytest.mark.parametrize("point", REFUSED)
def test_what_is_not_had_is_refused_by_name(stack: SdkStack, point: str) -> None:
    """An error says which field it is, before a model is asked."""
    fields, param = REFUSED[point]
    answer = _post(stack, {"model": "hermes", "input": "Hello", **fields})
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
    assert error["param"].startswith(param)
