"""A real browser: the distribution's Chromium, driven by Playwright."""

import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from playwright.async_api import Page, async_playwright


def chromium() -> str:
    """The program. Without it a test is skipped, in CI it fails."""
    program = shutil.which("chromium")
    if program is None:
        message = "no Chromium: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return program


@asynccontextmanager
async def browser_page() -> AsyncIterator[Page]:
    """An empty page."""
    program = chromium()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield await browser.new_page()
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
