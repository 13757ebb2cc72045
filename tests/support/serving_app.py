"""An application of a test, on a port of this machine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


@asynccontextmanager
async def serving_app(app: web.Application, **options: Any) -> AsyncIterator[int]:
    """The port at which it answers, as long as the block lasts; `options` are those of its runner."""
    runner = web.AppRunner(app, **options)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
