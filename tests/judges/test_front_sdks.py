"""The official SDKs for Python before the front: tool loops of three turns in every format, errors, and retries."""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any
from uuid import uuid4

import anthropic
import openai
import pytest

from tests.support.sdk_checks import check_direct, check_server, check_shown
from tests.support.sdk_clients import ASKS, LOOPS, anthropic_client, openai_client
from tests.support.sdk_cuts import cutting
from tests.support.sdk_direct import direct
from tests.support.sdk_loops import MODELS, question
from tests.support.sdk_stack import PLACE, TEXT, TEXT_TOOL, WORDS, SdkStack, asked_of, sdk_stack
from tokenmill.caller.kinds.arguments import read_arguments

pytestmark = pytest.mark.integration

WAYS = [f"{api}, {how}" for api in ("chat", "responses", "messages") for how in ("streamed", "whole")]

SERVERS = ["hermes", "glm_kv", "kimi_k2", "mistral_json", "mistral_args"]
"""One model of each kind of server."""

BAD_FIELDS: Mapping[str, tuple[dict[str, Any], str]] = {
    "chat": ({"logprobs": True}, "`logprobs` is not supported"),
    "responses": ({"previous_response_id": "resp_1"}, "Send the whole conversation in `input`."),
    "messages": ({"extra_body": {"container": "c"}}, "`container` is not supported"),
}

REFUSALS = {
    400: ("BadRequestError", "BadRequestError"),
    429: ("RateLimitError", "RateLimitError"),
    500: ("InternalServerError", "InternalServerError"),
    503: ("InternalServerError", "ServiceUnavailableError"),
}
"""How OpenAI's SDK calls a status, and how Anthropic's does."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, kafka: str, redis_url: str) -> Iterator[SdkStack]:
    """A front, a worker and the model servers."""
    with sdk_stack(tmp_path_factory.mktemp("sdks"), kafka, redis_url) as stack:
        yield stack


@pytest.fixture(scope="module")
def library() -> Iterator[str]:
    """A server that has nothing but the library."""
    with direct() as url:
        yield url


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("way", WAYS)
def test_a_tool_loop_ends_as_with_the_library(stack: SdkStack, library: str, way: str, model: str) -> None:
    """Three turns, one generation each: what the SDK shows is what the library makes of the same text."""
    asked = question(f"{way}, {model}")
    turns = LOOPS[way](stack.url, model, asked)
    check_shown(turns, MODELS[model], way.partition(",")[0])
    check_direct(turns, LOOPS[way](library, model, asked), MODELS[model])
    check_server(stack, model, asked, turns)


def test_the_judge_sees_another_answer(stack: SdkStack, library: str) -> None:
    """A character more in an argument is not what the library gives, nor what the model said."""
    asked = question("another answer")
    turns = LOOPS["chat, whole"](stack.url, "hermes", asked)
    other = LOOPS["chat, whole"](library, "hermes", asked)
    arguments = turns[1]["message"]["choices"][0]["message"]["tool_calls"][0]["function"]
    arguments["arguments"] = arguments["arguments"].replace("said", "says")
    with pytest.raises(AssertionError):
        check_direct(turns, other, MODELS["hermes"])
    turns[1]["calls"][0]["arguments"]["price"] = 123
    with pytest.raises(AssertionError):
        check_shown(turns, MODELS["hermes"], "chat")


@pytest.mark.parametrize("model", MODELS)
def test_a_call_that_has_to_be_made_is_made(stack: SdkStack, model: str) -> None:
    """Named or any, by each API: the prompt has the beginning of the call, and the SDK shows all of it."""
    words = f"Where? {uuid4()}"
    said: Any = [{"role": "user", "content": words}]
    shape = {"name": "look", "description": "Looks", "parameters": {"type": "object", "properties": {}}}
    with openai_client(stack.url) as client:
        tools: Any = [{"type": "function", "function": shape}]
        done: Any = client.chat.completions.create(model=model, messages=said, tools=tools, tool_choice="required")
        (call,) = done.choices[0].message.tool_calls
        assert (call.function.name, json.loads(call.function.arguments)) == ("look", PLACE)
        named: Any = {"tools": [{"type": "function", **shape}], "tool_choice": {"type": "function", "name": "look"}}
        (item,) = client.responses.create(model=model, input=words, **named).output
        assert item.type == "function_call"
        assert (item.name, json.loads(item.arguments)) == ("look", PLACE)
    with anthropic_client(stack.url) as client:
        any_: Any = {"tools": [{"name": "look", "input_schema": shape["parameters"]}], "tool_choice": {"type": "any"}}
        (block,) = client.messages.create(model=model, max_tokens=99, messages=said, **any_).content
        assert block.type == "tool_use"
        assert (block.name, block.input) == ("look", PLACE)
    begun = [asked_of(generation.body)["begun"] for generation in stack.generations(model, words)]
    assert len(begun) == 3
    assert all(begun)


@pytest.mark.parametrize("model", SERVERS)
def test_a_tool_may_take_a_text(stack: SdkStack, model: str) -> None:
    """Of both of OpenAI's APIs, streamed or not; what is sent back is a call of the model's own."""
    words = f"Patch it: {uuid4()}"
    said: list[Any] = [{"role": "user", "content": words}]
    chat_tools: Any = [{"type": "custom", "custom": {"name": TEXT_TOOL}}]
    tools: Any = [{"type": "custom", "name": TEXT_TOOL, "format": {"type": "text"}}]
    with openai_client(stack.url) as client:
        made: Any = client.chat.completions.create(model=model, messages=said, tools=chat_tools)
        message = made.choices[0].message
        (call,) = message.tool_calls
        assert (call.type, call.custom.name, call.custom.input) == ("custom", TEXT_TOOL, TEXT)
        said += [message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": "ok"}]
        ended: Any = client.chat.completions.create(model=model, messages=said, tools=chat_tools)
        assert ended.choices[0].message.content == WORDS
        chunks: Any = client.chat.completions.create(model=model, messages=said[:1], tools=chat_tools, stream=True)
        calls = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or ()]
        assert (calls[0].type, "".join(call.custom["input"] for call in calls)) == ("custom", TEXT)
        with client.responses.stream(model=model, input=words, tools=tools) as stream:
            deltas = [event.delta for event in stream if event.type == "response.custom_tool_call_input.delta"]
            (item,) = stream.get_final_response().output
        assert item.type == "custom_tool_call"
        assert ("".join(deltas), item.name, item.input) == (TEXT, TEXT_TOOL, TEXT)
        result = {"type": "custom_tool_call_output", "call_id": item.call_id, "output": "ok"}
        back: Any = [said[0], item.model_dump(exclude_none=True), result]
        assert client.responses.create(model=model, input=back, tools=tools).output_text == WORDS
    asked = [asked_of(generation.body)["messages"] for generation in stack.generations(model, words)]
    shown = [call["function"] for messages in asked for message in messages for call in message.get("tool_calls", ())]
    assert [(each["name"], read_arguments(each["arguments"])) for each in shown] == [(TEXT_TOOL, {"input": TEXT})] * 2


def failure(way: str, url: str, model: str, words: str, **fields: Any) -> Any:
    """The SDK's exception."""
    with pytest.raises((openai.APIError, anthropic.APIError)) as caught:
        ASKS[way](url, model, words, **fields)
    return caught.value


@pytest.mark.parametrize("way", WAYS)
def test_a_wrong_model_is_not_found(stack: SdkStack, way: str) -> None:
    """The SDK's NotFoundError names those that are there."""
    error = failure(way, stack.url, "nope", "Hello")
    assert (type(error).__name__, error.status_code) == ("NotFoundError", 404)
    assert "there is no model 'nope'; known are deepseek_v31, glm_kv" in str(error)
    assert error.body["error"]["code"] == "model_not_found" if "messages" in way else error.code == "model_not_found"


@pytest.mark.parametrize("way", WAYS)
def test_a_field_that_is_not_had_is_named(stack: SdkStack, way: str) -> None:
    """In the SDK's BadRequestError, before anything is asked of a model."""
    fields, said = BAD_FIELDS[way.partition(",")[0]]
    words = f"Hello {uuid4()}"
    error = failure(way, stack.url, "hermes", words, **fields)
    assert (type(error).__name__, error.status_code) == ("BadRequestError", 400)
    assert said in str(error)
    assert not stack.generations("hermes", words)


@pytest.mark.parametrize(
    ("way", "status", "model"), [(*pair, SERVERS[at % len(SERVERS)]) for at, pair in enumerate(product(WAYS, REFUSALS))]
)
def test_a_refusal_of_the_server_keeps_its_status(stack: SdkStack, way: str, status: int, model: str) -> None:
    """Streamed or not, of each kind of server: the SDK's class for it, with the server's own words. Then it answers."""
    error = failure(way, stack.url, model, f"refuse {status}")
    assert type(error).__name__ == REFUSALS[status]["messages" in way]
    assert error.status_code == status
    assert "refused by its script" in str(error)
    assert ("retry-after" in error.response.headers) == (status in (429, 503))
    assert ASKS[way](stack.url, model, "Hello") == WORDS


@pytest.mark.parametrize("model", SERVERS)
def test_an_answer_that_breaks_off_is_none(stack: SdkStack, model: str) -> None:
    """Without a stream it is a 502, the model was asked once, and answers the next request."""
    for way in ("chat, whole", "responses, whole", "messages, whole"):
        words = f"drop {uuid4()}"
        error = failure(way, stack.url, model, words)
        assert (type(error).__name__, error.status_code) == ("InternalServerError", 502)
        assert len(stack.generations(model, words)) == 1
        assert ASKS[way](stack.url, model, "Hello") == WORDS


@pytest.mark.parametrize("model", SERVERS)
def test_a_stream_that_breaks_off_raises(stack: SdkStack, model: str) -> None:
    """Chat completions and messages raise in the stream, behind the text that came; Responses end as failed."""
    words, text = f"drop {uuid4()}", list[str]()
    error = failure("chat, streamed", stack.url, model, words, seen=text.append)
    assert type(error) is openai.APIError
    assert "the connection to the model's server was lost" in error.message
    assert WORDS.startswith("".join(text))
    text.clear()
    error = failure("messages, streamed", stack.url, model, words, seen=text.append)
    assert type(error) is anthropic.APIStatusError
    assert "the connection to the model's server was lost" in error.message
    assert WORDS.startswith("".join(text))
    with openai_client(stack.url) as client:
        *_, last = client.responses.create(model=model, input=words, stream=True)
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert "the connection to the model's server was lost" in last.response.error.message
    assert len(stack.generations(model, words)) == 3
    assert ASKS["chat, whole"](stack.url, model, "Hello") == WORDS


@pytest.mark.parametrize("way", WAYS)
def test_a_retry_of_an_sdk_is_the_same_request(stack: SdkStack, way: str) -> None:
    """With its own retries: the connection is cut twice when the answer begins, and the model generates once."""
    words = f"Hello {uuid4()}"
    with cutting(stack.front.port, cuts=2, shown=0 if "streamed" in way else 150) as proxy:
        assert ASKS[way](proxy.url, "hermes", words, retries=2) == WORDS
    assert proxy.requests == 3
    assert len(stack.generations("hermes", words)) == 1


def test_a_response_is_found_by_its_id(stack: SdkStack) -> None:
    """Begun in the background, followed, followed after an event, read and stopped, by the SDK's own methods."""
    with openai_client(stack.url) as client:
        begun = client.responses.create(model="hermes", input=f"Hello {uuid4()}", background=True)
        assert begun.status == "queued"
        events = list(client.responses.retrieve(begun.id, stream=True))
        later = client.responses.retrieve(begun.id, stream=True, starting_after=3)
        assert list(later) == events[4:]
        assert events[-1].type == "response.completed"
        found = client.responses.retrieve(begun.id)
        assert (found.id, found.status, found.output_text) == (begun.id, "completed", WORDS)
        assert client.responses.cancel(begun.id) == found


def test_models_are_listed(stack: SdkStack) -> None:
    """By both SDKs."""
    with openai_client(stack.url) as client:
        models = {model.id for model in client.models.list()}
    with anthropic_client(stack.url) as client:
        assert {model.id: model.lifecycle for model in client.models.list()} == dict.fromkeys(models, "active")
    assert set(MODELS) <= models


def test_a_request_has_an_id_where_each_sdk_looks_for_it(stack: SdkStack) -> None:
    """Of an answer, and of a refusal."""
    said: Any = [{"role": "user", "content": "Hello"}]
    with openai_client(stack.url) as client:
        assert client.chat.completions.create(model="hermes", messages=said)._request_id
    with anthropic_client(stack.url) as client:
        assert client.messages.create(model="hermes", max_tokens=99, messages=said)._request_id
    error = failure("messages, whole", stack.url, "nope", "Hello")
    assert error.request_id
    assert error.body["request_id"] == error.request_id


def test_a_second_request_is_another_one(stack: SdkStack) -> None:
    """The same words from the same client, asked anew, are generated anew."""
    words = f"Hello {uuid4()}"
    ask: Callable[..., str] = ASKS["chat, whole"]
    assert [ask(stack.url, "hermes", words), ask(stack.url, "hermes", words)] == [WORDS, WORDS]
    assert len(stack.generations("hermes", words)) == 2
