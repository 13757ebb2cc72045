"""One trace from a client's question to a tool's result and the last frame, as a real collector is told of it."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from tests.support.collector import Collector, collector
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tests.support.spans import HEADERS, PARENT, TRACE
from tests.support.stage import until
from tests.support.tool_calls import weather
from tests.support.topics import read_topic
from tokenmill.config import Config, Kafka, Topics
from tokenmill.kafka.topics import create_topics
from tokenmill.servers.front import FrontProcess
from tokenmill.servers.gateway import GatewayProcess
from tokenmill.servers.ours import OurProcess
from tokenmill.servers.tools import ToolsProcess
from tokenmill.servers.worker import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SECRET = "Xanadu"
"""A word that no span may have."""

CALL = f'<tool_call>{{"name": "weather__forecast", "arguments": {{"city": "{SECRET}"}}}}</tool_call>'

TOOL = {"type": "function", "function": {"name": "weather__forecast", "parameters": {"type": "object"}}}

CLIENT, SERVER, CONSUMER = 3, 2, 5
"""Kinds of spans, as OTLP has them."""


class Running(NamedTuple):
    """Every process of ours, and whom they tell."""

    kafka: str
    topics: Topics
    collector: Collector
    front: FrontProcess
    gateway: GatewayProcess
    processes: tuple[OurProcess, ...]


@pytest.fixture
async def running(tmp_path: Path, kafka: str, redis_url: str, unique: str) -> AsyncIterator[Running]:
    names = "tokens", "events", "tool_calls", "tool_results", "tool_state", "tool_control", "requests", "dlq"
    topics = {name: f"{name}-{unique}" for name in names}
    await create_topics(Config(kafka=Kafka(bootstrap_servers=kafka), topics=Topics(**topics)), 2)
    async with Vllm(lambda _: Script(CALL)) as server:
        with collector(tmp_path / "collector") as told:
            settings: dict[str, Any] = {
                "kafka": {"bootstrap_servers": kafka, "group_id": f"workers-{unique}"},
                "redis": {"url": redis_url, "key_prefix": unique},
                "topics": topics,
                "telemetry": {"endpoint": told.url},
                "caller": {"group_id": f"callers-{unique}"},
                "tools": {"group_id": f"tools-{unique}"},
                "upstreams": [
                    {"models": ["m"], "kind": "vllm", "urls": [server.url], "model": "test-model", "format": "hermes"}
                ],
            }
            front, gateway = FrontProcess(tmp_path / "front", settings), GatewayProcess(tmp_path / "gateway", settings)
            tools = ToolsProcess(tmp_path / "tools", settings, {"weather": weather()})
            processes = (WorkerProcess(tmp_path / "worker", settings), front, gateway, tools)
            try:
                await asyncio.gather(*(asyncio.to_thread(process.start) for process in processes))
                yield Running(kafka, Topics(**topics), told, front, gateway, processes)
            finally:
                for process in processes:
                    await asyncio.to_thread(process.kill)


async def asked(running: Running) -> None:
    """A question, its answer, what came of the call, and a reader of the events."""
    body = {"model": "m", "messages": [{"role": "user", "content": SECRET}], "tools": [TOOL]}
    tracing = {name: value.decode() for name, value in HEADERS}
    async with httpx.AsyncClient(headers=tracing, timeout=60) as client:
        named = {"x-conversation-id": "c"}
        answer = await client.post(f"{running.front.url}/v1/chat/completions", json=body, headers=named)
        assert answer.status_code == 200, answer.text
        (call,) = answer.json()["choices"][0]["message"]["tool_calls"]
        assert call["function"]["name"] == "weather__forecast"
        topic = running.topics.tool_results
        (result,) = await until(lambda: read_topic(running.kafka, topic), "the tool's result")
        assert SECRET in json.dumps(json.loads(result.value))
        assert dict(result.headers)["traceparent"].decode().split("-")[1] == TRACE
        path = f"/v1/conversations/c/messages/{answer.headers['tm-message-id']}/events"
        async with client.stream("GET", f"{running.gateway.url}{path}") as stream:
            assert [line async for line in stream.aiter_lines() if '"finish"' in line] != []


async def test_one_trace_leads_from_the_question_to_the_last_frame(running: Running) -> None:
    """Each span is part of the one that caused it, and no word that was said is in any. All of them are told at last
    when their process ends.
    """
    await asked(running)
    for process in running.processes:
        await asyncio.to_thread(process.stop)
    spans = {(span.service, span.kind): span for span in running.collector.spans if span.trace == TRACE}
    assert {who: span.name for who, span in spans.items()} == {
        ("tokenmill-front", SERVER): "chat m",
        ("tokenmill-front", CLIENT): "chat m",
        ("tokenmill-worker", CONSUMER): f"process {running.topics.tokens}",
        ("tokenmill-tools", CLIENT): "execute_tool weather__forecast",
        ("tokenmill-gateway", SERVER): "GET /v1/conversations/{conversation}/messages/{message}/events",
    }
    front, caller = spans["tokenmill-front", SERVER], spans["tokenmill-front", CLIENT]
    worker, tools = spans["tokenmill-worker", CONSUMER], spans["tokenmill-tools", CLIENT]
    assert (front.parent, caller.parent, spans["tokenmill-gateway", SERVER].parent) == (PARENT, front.id, PARENT)
    assert (worker.parent, tools.parent) == (caller.id, caller.id)
    assert SECRET not in json.dumps(running.collector.bodies)
    assert running.collector.measured == {
        ("tokenmill-front", "gen_ai.client.operation.duration"),
        ("tokenmill-front", "gen_ai.client.operation.time_to_first_chunk"),
        ("tokenmill-front", "gen_ai.client.token.usage"),
        ("tokenmill-tools", "mcp.client.operation.duration"),
    }
