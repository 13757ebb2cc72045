"""What the official SDKs make of an answer is accepted in the next turn, and reaches every kind of server sound."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from tests.support.calling import HI, plan_of
from tests.support.scenarios import SCENARIOS, Rendered, Scenario, rendered
from tokenmill.apis.ask import Json
from tokenmill.caller.kinds import KINDS
from tokenmill.caller.kinds.arguments import images_of, text_of

FAILED = ("error", "timeout")
"""Reasons for which an SDK raises: there is no answer to send back."""

ANSWERED = [name for name in SCENARIOS if rendered(SCENARIOS[name], "native").finish.reason not in FAILED]

OF_ANTHROPIC: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)
OF_RESPONSES: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)


def chats(scenario: Scenario) -> Iterator[tuple[Rendered, Json]]:
    """The next turn of a chat: after a streamed answer and after a whole one, with and without what is unset."""
    state, done = ChatCompletionStreamState(), rendered(scenario, "openai")
    for payload in done.payloads[:-1]:
        state.handle_chunk(ChatCompletionChunk.model_validate_json(payload))
    whole = rendered(scenario, "openai_completion")
    message = ChatCompletion.model_validate_json(whole.payloads[-1]).choices[0].message
    for said in (state.current_completion_snapshot.choices[0].message, message):
        results = [{"role": "tool", "tool_call_id": call.id, "content": "ok"} for call in said.tool_calls or ()]
        for back in (said.to_dict(), said.model_dump()):
            yield done, {"model": "m", "messages": [HI, back, *results, HI]}


def messages(scenario: Scenario) -> Iterator[tuple[Rendered, Json]]:
    """The next turn of Messages, after a streamed answer and after a whole one."""
    snapshot, json_bufs, done = None, dict[int, bytes](), rendered(scenario, "anthropic")
    for payload in done.payloads:
        event = OF_ANTHROPIC.validate_json(payload)
        snapshot = accumulate_event(event=event, current_snapshot=snapshot, json_bufs=json_bufs)
    whole = Message.model_validate_json(rendered(scenario, "anthropic_message").payloads[-1])
    for said in (snapshot, whole):
        assert said is not None
        content = said.to_dict()["content"]
        assert isinstance(content, list)
        calls = [block for block in content if block["type"] == "tool_use"]
        user = [{"type": "tool_result", "tool_use_id": call["id"], "content": "ok"} for call in calls]
        turns = [HI, {"role": "assistant", "content": content}]
        turns.append({"role": "user", "content": [*user, {"type": "text", "text": "Go on."}]})
        yield done, {"model": "m", "max_tokens": 9, "messages": turns}


def responses(scenario: Scenario) -> Iterator[tuple[Rendered, Json]]:
    """The next turn of Responses: the output of the response is sent back."""
    done = rendered(scenario, "openai_responses")
    last = OF_RESPONSES.validate_json(done.payloads[-1])
    assert last.type in ("response.completed", "response.incomplete")
    output: list[Any] = [item.to_dict() for item in last.response.output]
    calls = [item["call_id"] for item in output if item["type"] == "function_call"]
    results = [{"type": "function_call_output", "call_id": call, "output": "ok"} for call in calls]
    yield done, {"model": "m", "input": [HI, *output, *results, HI]}


KINDS_OF_CHATS = [kind for kind in KINDS if kind.name != "completions"]
"""Those that are sent messages; for the other one a template renders them."""

TURNS = {"chat": chats, "messages": messages, "responses": responses}


def said_of(body: Json) -> Iterable[Json]:
    """The assistant's messages of a chat, each with a content, unless calls or a refusal stand in its place."""
    for message in body["messages"]:
        if message["role"] == "assistant":
            content = message.get("content")
            assert isinstance(content, str | list) or message.get("tool_calls") or message.get("refusal")
            assert content != []
            assert images_of(message) == []
            yield message


def check_chat(body: Json, done: Rendered) -> None:
    """What the model is shown is what happened."""
    said = list(said_of(body))
    text = done.shown + "".join(done.parts("refusal"))
    assert "".join("".join(map(text_of, said)).split()) == "".join(text.split())
    functions = [call["function"] for message in said for call in message.get("tool_calls") or ()]
    assert [(each["name"], as_object(each["arguments"])) for each in functions] == [call[1:] for call in done.calls]


def as_object(arguments: Any) -> Any:
    """Arguments as the object that they are."""
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def check_anthropic(body: Json, done: Rendered) -> None:
    """No turn is empty, and no text of the assistant's is blank: that API refuses both."""
    blocks = list[Json]()
    for message in body["messages"]:
        assert message["content"]
        if message["role"] == "assistant":
            blocks += message["content"]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    assert all(text.strip() for text in texts)
    text = done.shown + "".join(done.parts("refusal"))
    assert "".join("".join(texts).split()) == "".join(text.split())
    calls = [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    assert calls == [call[1:] for call in done.calls]


@pytest.mark.parametrize("api", TURNS)
@pytest.mark.parametrize("name", ANSWERED)
def test_an_answer_is_accepted_in_the_next_turn(name: str, api: str) -> None:
    """Also an empty one, however its SDK writes that."""
    for done, body in TURNS[api](SCENARIOS[name]):
        for kind in KINDS_OF_CHATS:
            plan = plan_of(kind.name, body, api)
            call = kind.rendering(plan) or kind.call(plan)
            (check_anthropic if kind.name == "anthropic" else check_chat)(call.body, done)
