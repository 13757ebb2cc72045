"""What a kind of model server is asked, made from a client's body, and what a fake server of that kind answers."""

import asyncio
from typing import Any

import aiohttp
import msgspec

from tests.support.model_servers.serving import FakeModelServer
from tokenmill.apis import APIS
from tokenmill.apis.ask import Json
from tokenmill.caller.kinds import Call, Kind, Plan
from tokenmill.caller.served import Served, served
from tokenmill.codecs import Chunk, find_codec
from tokenmill.config import Config, Upstream
from tokenmill.records import InputRecord

HI: Json = {"role": "user", "content": "hi"}
TOOL: Json = {
    "type": "function",
    "function": {"name": "now", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}},
}
OTHER: Json = {"type": "function", "function": {"name": "later", "parameters": {"type": "object", "properties": {}}}}
NAMED: Json = {"type": "function", "function": {"name": "now"}}
SCHEMA: Json = {"type": "object", "properties": {"a": {"type": "integer"}}}
SHAPE: Json = {"type": "json_schema", "json_schema": {"name": "shape", "schema": SCHEMA}}
IMAGE: Json = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
CALLED: Json = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": '{"zone":"CET"}'}}
HISTORY: list[Json] = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": [{"type": "text", "text": "No "}, {"type": "text", "text": "jokes."}]},
    HI,
    {"role": "assistant", "reasoning_content": "Which zone?", "tool_calls": [CALLED]},
    {"role": "tool", "tool_call_id": "c1", "content": "noon"},
]
RENDERED: list[Json] = [
    {"role": "system", "content": "Be brief.\n\nNo jokes."},
    HI,
    HISTORY[3] | {"content": ""},
    HISTORY[4],
]
"""The same for servers that render the prompt."""


def model(kind: str, **settings: Any) -> Served:
    """The model `m`, which its server has as `test-model` and which writes like Hermes if its text comes raw."""
    given = {"models": ["m"], "kind": kind, "urls": ["http://a"], "model": "test-model", **settings}
    upstream = msgspec.convert({"format": "hermes" if kind not in ("openai", "anthropic") else "", **given}, Upstream)
    return served(Config(upstreams=[upstream]))["m"]


def plan_of(kind: str, body: Json, api: str = "chat", **settings: Any) -> Plan:
    """How a client's body goes to a server of a kind. Raises `BadAsk`."""
    ask = next(each for each in APIS if each.name == api).read(body)
    plan = model(kind, **settings).plan(ask, api, body)
    return msgspec.structs.replace(plan, answer="answer-1")


def chat(*messages: Json, **fields: Any) -> Json:
    """The body of a chat completion; one that says hi if it says nothing else."""
    return {"model": "m", "messages": list(messages) or [HI], **fields}


async def answered(server: FakeModelServer, kind: Kind, call: Call) -> list[Chunk]:
    """What a fake server answers to a call, as the call's codec reads it. It has to accept the call."""
    codec, state, chunks = find_codec(call.codec), b"", list[Chunk]()
    async with asyncio.timeout(10), aiohttp.ClientSession() as session:
        headers = {"content-type": "application/json", **kind.headers("")}
        async with session.post(server.url + call.path, data=msgspec.json.encode(call.body), headers=headers) as reply:
            assert reply.status == 200, await reply.text()
            async for piece in reply.content.iter_any():
                state, more = codec.decode(state, InputRecord("", 0, 0, 0, b"k", piece))
                chunks += more
    return chunks


async def prompt_from(server: FakeModelServer, kind: Kind, plan: Plan) -> Plan:
    """The plan with the prompt that a fake server renders. It has to accept the request."""
    call = kind.rendering(plan)
    assert call is not None
    async with (
        asyncio.timeout(10),
        aiohttp.ClientSession() as session,
        session.post(server.url + call.path, data=msgspec.json.encode(call.body)) as reply,
    ):
        assert reply.status == 200, await reply.text()
        prompt = kind.prompt_of(await reply.read())
    assert prompt is not None
    return msgspec.structs.replace(plan, prompt=prompt)


def text_of(chunks: list[Chunk]) -> str:
    """Their text."""
    return "".join(chunk.delta or "" for chunk in chunks)


def ends_of(chunks: list[Chunk]) -> list[str]:
    """Their finish reasons."""
    return [chunk.finish_reason for chunk in chunks if chunk.finish_reason is not None]
