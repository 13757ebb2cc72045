"""Clients of others follow answers over the gateway, cut in the middle: Node's, and the official SDKs for Python."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from aiohttp import web
from anthropic import AsyncAnthropic
from openai import APIConnectionError, AsyncOpenAI

from tests.support.gateways import Gate, admission, answer, listening, shown
from tests.support.judging import run_node
from tests.support.stage import until
from tokenmill.gateway.routes.events import EventRoutes
from tokenmill.gateway.streams.service import StreamService

pytestmark = pytest.mark.integration

TEXTS = ["Hel", "lo ", "wor", "ld", "!"]


def routes(serving: StreamService) -> Iterable[web.RouteDef]:
    """One message where SDKs post for it: what they then read is what a front would answer."""
    yield web.post("/sdk/{conversation}/{message}/{path:.*}", EventRoutes(serving, admission()).get_message)


@pytest.fixture
async def gate(kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gate]:
    """A gateway that asks clients to come back at once."""
    monkeypatch.setattr("tokenmill.gateway.streams.framing.RETRY_MS", (20, 60))
    async with listening(kafka, unique, routes) as gate:
        yield gate


@pytest.mark.parametrize("dialect", ["native", "openai"])
async def test_nothing_is_missing_and_nothing_comes_twice(gate: Gate, dialect: str) -> None:
    """For `eventsource` and for `fetch`, cut in the middle three times; behind the end both stop by themselves."""
    records = answer("c", "m", TEXTS)
    wanted = shown(records, dialect)
    await gate.say(records[:1])
    url = f"{gate.url}/v1/conversations/c/messages/m/events?dialect={dialect}"
    page: asyncio.Task[Any] = asyncio.create_task(asyncio.to_thread(run_node, "resume_events.mjs", url))
    for number in range(1, 7, 2):
        await gate.attended(2)
        await gate.say(records[number : number + 2])
        await gate.cut()
    await gate.attended(2)
    await gate.say(records[7:])
    source, fetched = await page
    assert [each.encode() for each in source["data"]] == wanted
    assert [json.loads(each) if each[:1] == "{" else each for each in fetched["data"]] == [
        json.loads(each) if each[:1] == b"{" else each.decode() for each in wanted
    ]
    assert (source["opens"], fetched["opens"]) == (4, 4)


async def test_openai_reads_an_answer_as_it_comes(gate: Gate) -> None:
    """By its own client, from the address of a message."""
    records = answer("c", "m", TEXTS)
    await gate.say(records[:4])
    query = {"dialect": "openai"}
    async with AsyncOpenAI(base_url=f"{gate.url}/sdk/c/m", api_key="none", default_query=query) as client:
        stream = await client.chat.completions.create(model="some-model", messages=[], stream=True)
        rest, text, reason = records[4:], "", None
        async for chunk in stream:
            await gate.say(rest)
            rest = []
            text += chunk.choices[0].delta.content or ""
            reason = chunk.choices[0].finish_reason or reason
    assert (text, reason) == ("Hello world!", "stop")


async def test_openai_hears_of_a_cut(gate: Gate) -> None:
    """An end that was none is an error to it, never a shorter answer."""
    await gate.say(answer("c", "m", TEXTS, finish=False))
    query = {"dialect": "openai"}
    async with AsyncOpenAI(base_url=f"{gate.url}/sdk/c/m", api_key="none", default_query=query) as client:
        stream = await client.chat.completions.create(model="some-model", messages=[], stream=True)
        with pytest.raises(APIConnectionError):
            await _cut_at_the_first(gate, stream)


async def _cut_at_the_first(gate: Gate, stream: Any) -> None:
    async for _ in stream:
        if gate.serving.flusher.streams:
            await gate.cut()


async def test_anthropic_reads_an_answer_as_it_comes(gate: Gate) -> None:
    """By its own client, with the names of events that it looks for."""
    records = answer("c", "m", TEXTS)
    await gate.say(records[:4])
    query = {"dialect": "anthropic"}
    async with AsyncAnthropic(base_url=f"{gate.url}/sdk/c/m", api_key="none", default_query=query) as client:
        rest = records[4:]
        async with client.messages.stream(model="some-model", max_tokens=9, messages=[]) as stream:
            async for _ in stream:
                await gate.say(rest)
                rest = []
            message = await stream.get_final_message()
    assert [block.text for block in message.content if block.type == "text"] == ["Hello world!"]
    assert message.stop_reason == "end_turn"
    await until(lambda: not gate.serving.flusher.streams, "nobody reads")
