"""The inspector's page, opened in a real Chromium at a view."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.parse import quote

from aiohttp.test_utils import TestServer
from playwright.async_api import Page, expect

from tests.support.browser import browser_page
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.inspector.host import inspector_app
from tokenmill.inspector.playground import Recording

LISTEN = """
  window.refused = [];
  addEventListener("securitypolicyviolation", (event) => refused.push(`${event.effectiveDirective}: ${event.sample}`));
"""
"""What the page's policy has to stop is written down."""


class Seen:
    """What must not happen on a page, as long as this is entered."""

    def __init__(self, page: Page) -> None:
        self.problems: list[str] = []
        self._page = page
        self._handlers: dict[Any, Callable[[Any], None]] = {
            "console": lambda message: self.problems.append(message.text) if message.type == "error" else None,
            "pageerror": lambda error: self.problems.append(str(error)),
            "dialog": lambda dialog: self.problems.append(dialog.message),
            "request": self._asked,
        }

    def __enter__(self) -> Self:
        for name, handler in self._handlers.items():
            self._page.on(name, handler)
        return self

    def __exit__(self, *exception: object) -> None:
        for name, handler in self._handlers.items():
            self._page.remove_listener(name, handler)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:")):
            self.problems.append(request.url)


@asynccontextmanager
async def opened(
    view: str = "", fields: Any = None, recording: Recording | None = None, width: int = 1280
) -> AsyncIterator[Page]:
    """The page at a view. Fails at the end if it asked another server, was stopped by its policy, or went wrong."""
    behind = fragment(view, fields) if fields is not None else view
    async with (
        TestServer(inspector_app(recording, IdleConnections())) as server,
        browser_page() as page,
        await page.add_init_script(LISTEN),
    ):
        with Seen(page) as seen:
            await page.set_viewport_size({"width": width, "height": 900})
            await page.goto(f"http://127.0.0.1:{server.port}/inspect/#{behind}")
            await expect(page.get_by_test_id("step").first.or_(page.get_by_test_id("compared"))).not_to_be_empty()
            yield page
            assert await page.evaluate("refused") == []
        assert seen.problems == []


def fragment(view: str, fields: Any) -> str:
    """What stands behind the `#` of a link."""
    return f"{view}={quote(json.dumps(fields), safe='')}"


async def link(page: Page, view: str, fields: Any) -> None:
    """Follow a link."""
    await page.evaluate("(hash) => { location.hash = hash }", fragment(view, fields))
