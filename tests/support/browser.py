"""A real browser: the distribution's Chromium, driven by Playwright."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from playwright.async_api import Browser, Page, ViewportSize, async_playwright, expect

expect.set_options(timeout=30_000)
"""Milliseconds: on a busy machine, a page or a worker takes longer than Playwright's five seconds."""

VIEWPORT = ViewportSize(width=1280, height=720)
"""Of a new tab."""


def chromium() -> str:
    """The program. Without it a test is skipped, in CI it fails."""
    program = shutil.which("chromium")
    if program is None:
        message = "no Chromium: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return program


class Shared:
    """A browser for all pages of an event loop, and the tab that they have one after the other.

    To start a browser, and the process of a tab, takes most of the time that a short test of a page needs.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._tab: Page | None = None

    @asynccontextmanager
    async def page(self) -> AsyncIterator[Page]:
        """The tab, as it was when it was new. The next page does not get one in which something went wrong."""
        tab, self._tab = self._tab or await self._browser.new_page(viewport=VIEWPORT), None
        try:
            yield tab
            await self._renew(tab)
        except BaseException:
            await tab.context.close()
            raise
        self._tab = tab

    async def _renew(self, tab: Page) -> None:
        """Pages of another port are of another origin: what they stored there, no other page sees."""
        await tab.context.set_offline(False)
        await tab.goto("about:blank")
        await tab.emulate_media(color_scheme="null")
        await tab.set_viewport_size(VIEWPORT)
        await tab.context.clear_cookies()


_shared: dict[asyncio.AbstractEventLoop, Shared] = {}


@asynccontextmanager
async def shared_browser() -> AsyncIterator[None]:
    """Until its end, all pages of this event loop are in one browser: a fixture of modules whose tests share a loop."""
    loop = asyncio.get_running_loop()
    async with _started() as browser:
        _shared[loop] = Shared(browser)
        try:
            yield
        finally:
            del _shared[loop]


@asynccontextmanager
async def browser_page() -> AsyncIterator[Page]:
    """An empty page."""
    if shared := _shared.get(asyncio.get_running_loop()):
        async with shared.page() as page:
            yield page
        return
    async with _started() as browser:
        yield await browser.new_page(viewport=VIEWPORT)


@asynccontextmanager
async def _started() -> AsyncIterator[Browser]:
    program = chromium()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def site(pages: Mapping[str, str], *routes: web.RouteDef) -> AsyncIterator[int]:
    """A server of pages (path → HTML), which may be filled in later, and of further routes; its port."""

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=pages[request.path], content_type="text/html")

    app = web.Application()
    app.add_routes([web.get("/", page), *routes])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
