"""The demo's model server writes what a model would, in the manner of vLLM."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request

from tokenmill import Parser
from tokenmill.demo.model_server import NO_PARSER, PATH, SAMPLES, model_server, say
from tokenmill.demo.tools import TOOLS
from tokenmill.events import TextDelta

Client = TestClient[Request, Application]

USER = {"role": "user", "content": "hello"}

TEXTLESS = {"tool_choice"}
"""A format of forced calls: its models can say nothing else."""


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with TestClient(TestServer(model_server())) as client:
        yield client


def body_of(model: str, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": list(messages) or [USER], **more}


async def streamed(client: Client, body: dict[str, Any]) -> list[dict[str, Any]]:
    async with client.post(PATH, json={**body, "stream": True}) as response:
        assert response.status == 200
        *lines, last = [line[6:] async for line in response.content if line.strip()]
    assert last.strip() == b"[DONE]"
    return [msgspec.json.decode(line) for line in lines]


async def test_it_streams_the_sample_of_a_format(client: Client) -> None:
    """The role first, the end with the last token, the usage behind it."""
    body = body_of("hermes", tools=TOOLS, tool_choice="none", stream_options={"include_usage": True})
    first, *chunks, last = await streamed(client, body)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks) == SAMPLES["hermes"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == len(chunks)


async def test_an_answer_in_one_piece(client: Client) -> None:
    """As often as it is asked for."""
    async with client.post(PATH, json=body_of("plain", n=2)) as response:
        answer = await response.json()
    assert [choice["message"]["content"] for choice in answer["choices"]] == [SAMPLES["plain"]] * 2


async def test_it_refuses_as_vllm_does(client: Client) -> None:
    """Models that it has not, and tools without the word that leaves calls in the text."""
    async with client.post(PATH, json=body_of("gpt-9")) as response:
        assert (response.status, (await response.json())["error"]["type"]) == (404, "NotFoundError")
    async with client.post(PATH, json=body_of("hermes", tools=TOOLS)) as response:
        assert (response.status, (await response.json())["error"]["message"]) == (400, NO_PARSER)


async def test_its_models_are_the_formats(client: Client) -> None:
    """Each by its name."""
    async with client.get("/v1/models") as response:
        assert [model["id"] for model in (await response.json())["data"]] == list(SAMPLES)


@pytest.mark.parametrize("model", sorted(SAMPLES.keys() - TEXTLESS))
def test_a_loop_of_tools_ends(model: str) -> None:
    """What a tool answered is in the text of the answer, whatever the model writes in."""
    reply = say(body_of(model, USER, {"role": "tool", "content": "21 degrees"}))
    parser = Parser(model, identity="m")
    events = [event for token in reply.tokens for event in parser.feed(token)]
    events += parser.finish()
    text = "".join(event.delta for event in events if isinstance(event, TextDelta))
    assert text.endswith("The tool says: 21 degrees")


def test_it_goes_on_with_an_answer() -> None:
    """As vLLM does with `continue_final_message`; with one that the sample does not begin with it begins anew."""
    begun = '<tool_call>\n{"name": "get_weather", "arguments": '
    assert "".join(say(body_of("hermes", USER, {"role": "assistant", "content": begun})).tokens).startswith('{"city"')
    other = {"role": "assistant", "content": [{"type": "text", "text": "other"}]}
    assert "".join(say(body_of("hermes", USER, other)).tokens) == SAMPLES["hermes"]


def test_it_stops_at_a_limit() -> None:
    """Of tokens; the reason says so."""
    assert say(body_of("hermes", max_tokens=3)) == ([SAMPLES["hermes"][at : at + 4] for at in (0, 4, 8)], "length")
