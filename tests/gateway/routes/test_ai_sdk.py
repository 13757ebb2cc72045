"""A page comes back to a chat: `gateway/routes/ai_sdk.py`, with the AI SDK's own transport."""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import httpx
import pytest

from tests.structure.pages import _blocks
from tests.structure.tree import DOCS
from tests.support.gateways import Gate, admission, answer, listening, payloads, shown
from tests.support.judging import run_node, serving, sse
from tests.support.stage import until
from tokenmill.gateway.auth.authorizer import AllowAll, TicketAuthorizer
from tokenmill.gateway.auth.grant import Credentials
from tokenmill.gateway.auth.tickets import Tickets
from tokenmill.gateway.routes.ai_sdk import VERSION, AiSdkRoutes

pytestmark = pytest.mark.integration

PAGE = DOCS / "howto" / "show-an-answer-in-a-browser.md"

(TRANSPORT,) = (block.text for block in _blocks(PAGE) if block.language == "js")

AUTHORIZER = TicketAuthorizer(AllowAll(), Tickets("", 60))
"""Lets everybody in who has no ticket, and those whose ticket is good."""


@pytest.fixture
async def gate(kafka: str, unique: str) -> AsyncIterator[Gate]:
    """A gateway with this route."""
    async with listening(kafka, unique, lambda serving: AiSdkRoutes(serving, admission(AUTHORIZER)).routes()) as gate:
        yield gate


async def test_the_sdk_goes_on_where_it_was_cut(gate: Gate) -> None:
    """With the how-to's transport, which posts to another server. Cut in the middle, twice: it shows the whole message,
    and asks no more when nothing is open.
    """
    records = answer("c", "m", ["<think>why</think>", "Hel", "lo ", "wor", "ld"], format="deepseek_r1")
    await gate.say([*answer("c", "m0", ["before"]), *records[:5]])
    ticket = AUTHORIZER.ticket(await AUTHORIZER.grant(Credentials({})), "c", "read")
    with serving(sse(shown(answer("c", "m0", ["before"]), "ai_sdk_ui")), VERSION) as site:
        script = partial(run_node, "resume_ai_sdk.mjs", gate.url, site, ticket, stdin=TRANSPORT)
        page: asyncio.Task[Any] = asyncio.create_task(asyncio.to_thread(script))
        for number in (5, 7):
            await gate.attended()
            await gate.say(records[number : number + 2])
            await gate.cut()
        await gate.attended()
        await gate.say(records[9:])
        seen = await page
    assert [part["text"] for part in seen["sent"]["message"]["parts"] if "text" in part] == ["before"]
    *cut, whole = seen["visits"]
    assert len(cut) == 2
    texts = [[part["text"] for part in visit["message"]["parts"] if "text" in part] for visit in (*cut, whole)]
    assert texts[-1] == ["why", "Hello world"]
    assert whole["message"]["id"] == "m"
    assert whole["error"] is None


async def test_what_is_past_is_folded(gate: Gate) -> None:
    """A page that comes late gets few frames, and the same text."""
    records = answer("c", "m", [f"word{number} " for number in range(4_000)], finish=False)
    await gate.say(records)
    async with (
        httpx.AsyncClient(base_url=gate.url, timeout=20) as client,
        client.stream("GET", "/api/chat/c/stream") as response,
    ):
        assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
        body = b""
        async for data in response.aiter_bytes():
            body += data
            if b"word3999" in body:
                break
    said = [json.loads(each) for each in payloads(body) if b"text-delta" in each]
    whole = [json.loads(each) for each in shown(records, "ai_sdk_ui") if b"text-delta" in each]
    assert "".join(each["delta"] for each in said) == "".join(each["delta"] for each in whole)
    assert len(body) < sum(len(f"word{number} ") for number in range(4_000)) + 4_000


async def test_nothing_open_is_nothing_to_show(gate: Gate) -> None:
    """Neither before the first answer nor behind the last."""
    async with httpx.AsyncClient(base_url=gate.url, timeout=20) as client:
        assert (await client.get("/api/chat/c/stream")).status_code == 204
        await gate.say(answer("c", "m", ["Hello"]))
        assert (await client.get("/api/chat/c/stream")).status_code == 204


async def test_the_latest_of_several_open_answers_is_shown(gate: Gate) -> None:
    """It alone."""
    one, two = answer("c", "m1", ["a", "b"], finish=False), answer("c", "m2", ["c", "d"])
    await gate.say([*one, *two[:3]])
    async with httpx.AsyncClient(base_url=gate.url, timeout=20) as client:
        page = asyncio.create_task(client.get("/api/chat/c/stream"))
        await gate.attended()
        await gate.say(two[3:])
        assert payloads((await page).content) == shown(two, "ai_sdk_ui")
        await until(lambda: not gate.serving.flusher.streams, "nobody reads")
