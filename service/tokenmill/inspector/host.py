"""`tokenmill inspect`: the page by itself, for whoever sits at this machine."""

import asyncio
import signal

from aiohttp import web

from tokenmill.config import Config
from tokenmill.config.gateway import Gateway
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.deadlines import Deadlines
from tokenmill.gateway.host import listening
from tokenmill.gateway.origins import Origins
from tokenmill.gateway.server import client_app
from tokenmill.inspector.page import Page
from tokenmill.inspector.playground import BODY_BYTES, Playground, Recording
from tokenmill.observe import setup_logs


def run_inspector(config: Config, recording: Recording | None = None) -> int:
    """Serve the page until SIGTERM or SIGINT."""
    setup_logs(config.worker.log_format, config.worker.log_level)
    asyncio.run(_until_signal(config, recording))
    return 0


async def _until_signal(config: Config, recording: Recording | None) -> None:
    stop, watch, inspect = asyncio.Event(), Deadlines(), config.inspect
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with listening(inspector_app(recording, watch), watch, inspect.bind, inspect.port, "inspect", ""):
        await stop.wait()


def inspector_app(recording: Recording | None, watch: Deadlines) -> web.Application:
    """What browsers come to. Only pages of its own may, and only under a name of this machine."""
    routes = [route for part in (Playground(recording), Page()) for route in part.routes()]
    return client_app(routes, Counts(), Origins(Gateway()), watch, BODY_BYTES)
