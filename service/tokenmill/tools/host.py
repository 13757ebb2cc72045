"""`tokenmill tools run`: the parts of a runner, started and stopped."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import uvloop
from aiohttp import web

from tokenmill.config import Config, Tools
from tokenmill.errors import TokenmillError
from tokenmill.observe import TOOLS_METRICS, Numbers, exposition, setup_logs
from tokenmill.observe.ops import ops_app
from tokenmill.observe.telemetry import Telemetry
from tokenmill.observe.telemetry_setup import telemetry_of
from tokenmill.process import EXIT_S, Deadline, bound
from tokenmill.tools.link import Link, Links
from tokenmill.tools.runner import Runner
from tokenmill.tools.server_file import Server

log = logging.getLogger(__name__)


def run_tools(config: Config, servers: Sequence[Server]) -> int:
    """Run until SIGTERM or SIGINT (0), or until something makes going on impossible (1)."""
    setup_logs(config.worker.log_format, config.worker.log_level)
    telemetry = telemetry_of(config, "tools")
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(config, servers, telemetry))
    except TokenmillError as problem:
        log.critical("%s", problem)
        return 1
    finally:
        telemetry.close()
    return 0


async def _run(config: Config, servers: Sequence[Server], telemetry: Telemetry) -> None:
    stop, deadline, loop = asyncio.Event(), Deadline(), asyncio.get_running_loop()

    def end() -> None:
        deadline.start(config.tools.drain_s + 2 * EXIT_S, "drain")
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    numbers = Numbers(TOOLS_METRICS)
    links = Links((server.name, Link(server, config.tools)) for server in servers)
    connecting = [asyncio.create_task(link.run(), name=f"the link to {name}") for name, link in links]
    try:
        runner = Runner(config, links, numbers, telemetry)
        async with _watched(config.tools, ops_app(exposition(numbers), runner.readiness)):
            await runner.run(stop)
    finally:
        for task in connecting:
            task.cancel()
        await asyncio.gather(*connecting, return_exceptions=True)


@asynccontextmanager
async def _watched(settings: Tools, app: web.Application) -> AsyncIterator[None]:
    """Answer operators."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        with bound(settings.bind, settings.port, "tools") as sock:
            await web.SockSite(runner, sock).start()
            log.info("tools.port: listening on %s port %d", settings.bind, sock.getsockname()[1])
            yield
    finally:
        await runner.cleanup()
