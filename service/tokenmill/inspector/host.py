"""Where the page is served: by `tokenmill inspect`, for whoever sits at this machine, or beside a gateway, for those
whom that lets in.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from tokenmill.config import Config
from tokenmill.config.gateway import Gateway
from tokenmill.config.gateway_relations import is_loopback
from tokenmill.errors import ConfigError
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.authorizer import AllowAll
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.auth.grant import Authorizer
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.host import listening
from tokenmill.gateway.http.app import client_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.http.tls import server_context
from tokenmill.inspector.live_routes import READERS, READERS_EACH, LiveRoutes
from tokenmill.inspector.page import Page
from tokenmill.inspector.playground import BODY_BYTES, Playground, Recording
from tokenmill.observe import setup_logs
from tokenmill.process import stop_on_signals


def run_inspector(config: Config, recording: Recording | None = None, *, live: bool = False) -> int:
    """Serve the page until SIGTERM or SIGINT; with conversations on Kafka if they are to be seen `live`."""
    if not is_loopback(config.inspect.bind):
        raise ConfigError(["inspect.bind: `tokenmill inspect` asks nobody who they are: it needs 127.0.0.1"])
    setup_logs(config.worker.log_format, config.worker.log_level)
    asyncio.run(_until_signal(config, recording, live=live))
    return 0


async def _until_signal(config: Config, recording: Recording | None, *, live: bool) -> None:
    stop, watch, inspect = stop_on_signals(), IdleConnections(), config.inspect
    app = inspector_app(recording, watch, config if live else None)
    async with listening(app, watch, inspect.bind, inspect.port, "inspect", ""):
        await stop.wait()


@asynccontextmanager
async def beside_gateway(config: Config, authorizer: Authorizer) -> AsyncIterator[None]:
    """The page on a port of its own, as long as the block lasts."""
    watch, inspect, tls = IdleConnections(), config.inspect, server_context(config.gateway)
    app = inspector_app(None, watch, config, authorizer, config.gateway)
    async with listening(app, watch, inspect.bind, inspect.port, "inspect", "", tls):
        yield


def inspector_app(
    recording: Recording | None,
    watch: IdleConnections,
    live: Config | None = None,
    authorizer: Authorizer | None = None,
    gateway: Gateway | None = None,
) -> web.Application:
    """What browsers come to. Only pages of its own may; without rights, only under a name of this machine.

    `live` says where Kafka is, if conversations are to be seen; without `authorizer` everybody may do everything.
    """
    authorizer, gateway = authorizer or AllowAll(), gateway or Gateway()
    playground = Playground(authorizer, recording, live=live is not None, words=gateway.writes)
    parts: list[Playground | LiveRoutes | Page] = [playground, Page()]
    if live is not None:
        readers, words = (Admission(authorizer, ConnectionLimits(READERS, READERS_EACH)) for _ in range(2))
        parts.insert(0, LiveRoutes(live, readers, words, writes=gateway.writes))
    routes = [route for part in parts for route in part.routes()]
    origins = Origins(gateway, others=False)  # pages of others are for the gateway's own port
    return client_app(routes, Counts(), origins, watch, BODY_BYTES)
