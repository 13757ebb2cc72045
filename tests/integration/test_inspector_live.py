"""The live view in a real Chromium, on a real Kafka."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp.test_utils import TestServer
from playwright.async_api import Page, expect

from tests.support.browser import browser_page
from tests.support.inspecting import Seen
from tests.support.stage import Stage
from tokenmill.config import Config, Kafka
from tokenmill.gateway.deadlines import Deadlines
from tokenmill.inspector.host import inspector_app

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PARIS = '<tool_call>\n{"name":"f","arguments":{"city":"Paris"}}\n</tool_call>'


@asynccontextmanager
async def live(stage: Stage, conversation: str, back: int = 600) -> AsyncIterator[Page]:
    """The page at a conversation; at its end it has asked nobody else, and nothing went wrong."""
    config = Config(kafka=Kafka(bootstrap_servers=stage.bootstrap), topics=stage.topics)
    fields = quote(json.dumps({"conversation": conversation, "back": back}), safe="")
    async with TestServer(inspector_app(None, Deadlines(), config)) as server, browser_page() as page:
        seen = Seen(page)
        await page.goto(f"http://127.0.0.1:{server.port}/inspect/#live={fields}")
        await expect(page.get_by_test_id("live-status")).to_have_text("Following.", timeout=30_000)
        yield page
        assert seen.problems == []


async def test_an_answer_is_followed_while_its_worker_is_killed(stage: Stage) -> None:
    """Tokens are there at once; their events wait for the worker, and come when it is back."""
    worker = await stage.start()
    async with live(stage, "c") as page:
        await stage.send("c", {"message_id": "m", "open": {"format": "hermes"}, "delta": "Let me see. "})
        events = page.get_by_test_id("event")
        await expect(events.last).to_have_attribute("data-type", "text-delta")
        await expect(page.get_by_text("not published yet")).to_have_count(0)
        worker.kill()
        for at in range(0, len(PARIS), 7):
            await stage.send("c", {"message_id": "m", "delta": PARIS[at : at + 7]})
        await stage.send("c", {"message_id": "m", "finish_reason": "stop"})
        await expect(events.last).to_have_attribute("data-type", "finish")
        await expect(events.last).to_contain_text("not published yet")
        await stage.start()
        await expect(page.get_by_text("not published yet")).to_have_count(0, timeout=30_000)
        call = page.locator("[data-testid=event][data-type=tool-call]")
        await call.click()
        marked = "".join(await page.locator(".strip .mark").all_text_contents()).replace("↵", "\n")
        assert marked == PARIS.removesuffix("\n</tool_call>")
