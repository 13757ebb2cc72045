"""`tokenmill tools run`: the parts of a runner, started and stopped."""

import asyncio
from collections.abc import Sequence
from functools import partial

from tokenmill.config import Config, Tools
from tokenmill.gateway.host import listening
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.observe import TOOLS_METRICS, Numbers, exposition
from tokenmill.observe.ops import ops_app
from tokenmill.observe.telemetry import Telemetry
from tokenmill.process import EXIT_S, Deadline, run_process
from tokenmill.tasks import Tasks
from tokenmill.tools.link import Link, Links
from tokenmill.tools.runner import Runner
from tokenmill.tools.server_file import Server


def run_tools(config: Config, servers: Sequence[Server]) -> int:
    """Run until SIGTERM or SIGINT (0), or until the process can't continue: for the code see `process.exit_code`."""
    return run_process(config, "tools", partial(_run, config, servers))


async def _run(config: Config, servers: Sequence[Server], stop: asyncio.Event, telemetry: Telemetry) -> None:
    numbers = Numbers(TOOLS_METRICS)
    links = Links((server.name, Link(server, config.tools)) for server in servers)
    background, deadline = Tasks(), Deadline()
    for name, link in links:
        background.begin(link.run(), f"the link to {name}")
    background.begin(_end_in_time(stop, deadline, config.tools), "the end")
    try:
        runner = Runner(config, links, numbers, telemetry, deadline)
        watch, at = IdleConnections(), config.tools
        app = ops_app(exposition(numbers), runner.readiness, [watch.middleware()])
        async with listening(app, watch, at.bind, at.port, "tools", ""):
            await runner.run(stop)
    finally:
        deadline.start(EXIT_S, "failure")  # unless it has started with the drain
        await background.close()


async def _end_in_time(stop: asyncio.Event, deadline: Deadline, settings: Tools) -> None:
    await stop.wait()
    deadline.start(settings.drain_s + 2 * EXIT_S, "drain")
