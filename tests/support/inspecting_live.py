"""The inspector's page at a conversation on a real Kafka."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from aiohttp.test_utils import TestServer
from playwright.async_api import Locator, Page, expect

from tests.support.browser import browser_page
from tests.support.inspecting import Seen
from tests.support.stage import Stage
from tokenmill.config import Config, Gateway, Kafka, Topics
from tokenmill.gateway.auth.authorizer import Authorizer
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.inspector.host import inspector_app


def config_of(stage: Stage, **topics: str) -> Config:
    """What the inspector has to know of a stage."""
    return Config(
        kafka=Kafka(bootstrap_servers=stage.bootstrap),
        topics=Topics(**{**stage.settings["topics"], **topics}),
    )


@asynccontextmanager
async def page_at(
    fragment: str, config: Config | None, authorizer: Authorizer | None = None, width: int = 1280
) -> AsyncIterator[Page]:
    """The page at a fragment. Fails at the end if it asked another server, or something went wrong."""
    app = inspector_app(None, IdleConnections(), config, authorizer, Gateway())
    async with TestServer(app) as server, browser_page() as page:
        with Seen(page) as seen:
            await page.set_viewport_size({"width": width, "height": 900})
            await page.goto(f"http://127.0.0.1:{server.port}/inspect/#{fragment}")
            yield page
        assert seen.problems == []


@asynccontextmanager
async def live(config: Config, conversation: str, width: int = 1280, **fields: Any) -> AsyncIterator[Page]:
    """The page as it follows a conversation."""
    asked = quote(json.dumps({"conversation": conversation, "back": 600, **fields}), safe="")
    async with page_at(f"live={asked}", config, width=width) as page:
        await following(page)
        yield page


async def following(page: Page) -> None:
    """Wait until the page has read what is in the log."""
    await expect(page.get_by_test_id("live-status")).to_have_text("Following.")


def events_of(page: Page, kind: str = "") -> Locator:
    """The rows of events, or of those of a kind."""
    return page.locator(f"[data-testid=event][data-type={kind}]") if kind else page.get_by_test_id("event")


async def published(page: Page) -> None:
    """Wait until a worker has published all events in sight."""
    await expect(page.get_by_text("not published yet")).to_have_count(0)


async def marked(page: Page) -> str:
    """The characters of the source that are marked, once some are: the page draws them in its next frame."""
    marks = page.locator(".strip .mark")
    await expect(marks.first).to_be_visible()
    return "".join(await marks.all_text_contents()).replace("↵", "\n")
