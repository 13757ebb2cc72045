"""A real browser: the distribution's Chromium, driven by Playwright. And what stands between it and a server."""

import asyncio
import os
import shutil
import socket
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Self

import pytest
from aiohttp import web
from playwright.async_api import Page, async_playwright

RESET = struct.pack("ii", 1, 0)
"""Closing a socket with this resets the connection, as a process that is killed or a balancer does."""


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


class Line:
    """The line between a browser and a server on this machine, which can be cut."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.opened = 0
        """Connections that were made."""

    @property
    def port(self) -> int:
        """Where the browser finds it."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *exception: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        behind, there = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {writer, there}
        await asyncio.gather(self._pass_on(reader, there), self._pass_on(behind, writer))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
            self._writers.discard(writer)

    def cut(self) -> None:
        """Reset all connections."""
        for writer in self._writers:
            connection = writer.get_extra_info("socket")
            if connection is not None and connection.fileno() >= 0:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()
        self._writers.clear()
