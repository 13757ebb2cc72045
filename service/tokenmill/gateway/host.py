"""The process: starts the parts, waits for a signal or a failure, drains, and ends in time.

Order of a start: the operators' port; Kafka, for as long as that may take; then the clients' port, so that no client is
turned away. Order of an end: `/readyz` fails, no new connection is accepted, connections end with their answers,
clients of streams are told to come back before the reset, and bodies that are being posted get the rest of the time;
then everything else stops.
"""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

from aiohttp import web

from tokenmill.config import Config
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.authorizer import make_authorizer
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.auth.grant import Authorizer
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.event_log.gauges import read_gauges
from tokenmill.gateway.event_log.tail import Tail
from tokenmill.gateway.http.app import client_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.open_files import allow_connections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.http.tls import server_context
from tokenmill.gateway.http.unmatched import server_log
from tokenmill.gateway.ingest.producer import Producer
from tokenmill.gateway.routes.ag_ui import AgUiRoutes
from tokenmill.gateway.routes.ai_sdk import AiSdkRoutes
from tokenmill.gateway.routes.durable_streams import DurableStreamRoutes
from tokenmill.gateway.routes.events import EventRoutes
from tokenmill.gateway.routes.tickets import TicketRoutes
from tokenmill.gateway.routes.websockets import WebSocketRoutes
from tokenmill.gateway.routes.writes import WriteRoutes
from tokenmill.gateway.streams.service import StreamService
from tokenmill.kafka.calls import until_available
from tokenmill.limits import KIB
from tokenmill.observe import GATEWAY_METRICS, Numbers, exposition
from tokenmill.observe.ops import ops_app
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry
from tokenmill.process import EXIT_S, Deadline, ToldToStop, before, bound, run_process, run_until
from tokenmill.tasks import beside, log_failure

log = logging.getLogger(__name__)

READING = (EventRoutes, AiSdkRoutes, AgUiRoutes, DurableStreamRoutes)
"""Classes of the routes that read. Each takes the stream service and the admission of clients."""

BACKLOG = 4_096
"""Connections that the kernel holds for us: all clients of a process that ended may come within a second."""

SILENT_S = 30.0
"""Seconds without any answer from Kafka after which `/readyz` fails."""


Beside: TypeAlias = Callable[[Config, Authorizer], AbstractAsyncContextManager[None]]


def nothing_beside(_config: Config, _authorizer: Authorizer) -> AbstractAsyncContextManager[None]:
    """Serve nothing else."""
    return contextlib.nullcontext()


def run_gateway(config: Config, beside: Beside = nothing_beside) -> int:
    """Run until SIGTERM or SIGINT (0), or until it can't continue: for the code see `process.exit_code`.

    `beside` starts whatever else the process serves, to clients with the gateway's rights.
    """

    async def main(stop: asyncio.Event, telemetry: Telemetry) -> None:
        allow_connections(config.gateway.connections, "gateway.connections")
        await Process(config, Deadline(), beside, telemetry).run(stop)

    return run_process(config, "gateway", main)


class Process:
    """The parts of a gateway."""

    def __init__(
        self,
        config: Config,
        deadline: Deadline,
        beside: Beside = nothing_beside,
        telemetry: Telemetry = NO_TELEMETRY,
    ) -> None:
        self._beside = beside
        self._telemetry = telemetry
        self._config = config
        self._deadline = deadline
        settings = self._settings = config.gateway
        self._counts = Counts(Numbers(GATEWAY_METRICS))
        self._streams = StreamService.of_topic(config.kafka, config.topics.events, settings, self._counts, telemetry)
        self._authorizer = make_authorizer(settings)
        self._limits = ConnectionLimits(settings.connections, settings.connections_per_principal)
        self._tls = server_context(settings)
        self._writes: WriteRoutes | None = None
        self._watch = IdleConnections()
        self._begun = False
        self._drain_end = 0.0

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop`. Raises a `TokenmillError` with the reason why it can't continue."""
        await self._authorizer.prepare()
        patience_s = self._config.kafka.startup_timeout_s
        with contextlib.suppress(ToldToStop):
            async with self._operators():
                await before(stop, until_available(lambda: self._streams.tail.start(patience_s), patience_s))
                try:
                    async with self._served(stop) as clients:
                        self._begun = True
                        async with run_until(stop, self._streams.parts, self._deadline):
                            await self._drain(clients)
                finally:
                    await self._streams.stop()

    async def _drain(self, clients: web.BaseSite) -> None:
        self._deadline.start(self._settings.drain_s + EXIT_S, "drain")
        self._drain_end = asyncio.get_running_loop().time() + self._settings.drain_s
        self._watch.draining = True
        if self._writes is not None:
            self._writes.drain()
        await clients.stop()  # new connections are refused, and find another process
        log.info("draining: telling the clients of %d streams to come back", self._streams.hub.close())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self._drain_end):
                await self._streams.flusher.emptied()
                if self._writes is not None:  # else answers being posted would be cut off for all their readers
                    await self._writes.settled()

    def _drain_left_s(self) -> float:
        """Return the seconds left for writes; all of them after a failure, which has its own, shorter deadline."""
        if not self._watch.draining:
            return self._settings.drain_s
        return max(0.0, self._drain_end - asyncio.get_running_loop().time())

    def _operators(self) -> AbstractAsyncContextManager[web.BaseSite]:
        """Serve the operators' port."""
        settings, numbers, watch = self._settings, self._counts.numbers, IdleConnections()
        read_gauges(numbers, settings, self._streams.tail, self._streams.log_readers)
        app = ops_app(exposition(numbers), self.readiness, [watch.middleware()])
        return listening(app, watch, settings.ops_bind, settings.ops_port, "gateway", "ops_")

    @contextlib.asynccontextmanager
    async def _served(self, stop: asyncio.Event) -> AsyncIterator[web.BaseSite]:
        """Serve the clients' port."""
        settings, watch = self._settings, self._watch
        async with (
            self._routed(watch, stop) as clients,
            listening(clients, watch, settings.bind, settings.port, "gateway", "", self._tls) as site,
            self._beside(self._config, self._authorizer),
        ):
            yield site

    @contextlib.asynccontextmanager
    async def _routed(self, watch: IdleConnections, stop: asyncio.Event) -> AsyncIterator[web.Application]:
        """Yield the clients' application, with a producer behind it if clients may write."""
        serving, settings, admission = self._streams, self._settings, Admission(self._authorizer, self._limits)
        async with self._writing(admission, stop) as writing:
            writes = {"stop": writing.say_stop, "tool_result": writing.say_tool_result} if writing else {}
            sockets = WebSocketRoutes(serving, admission, writes)
            ticket_limits = ConnectionLimits(settings.connections, settings.connections_per_principal)
            tickets = TicketRoutes(self._authorizer, admission, settings.ticket_s, ticket_limits)
            routed = [part(serving, admission) for part in READING]
            parts = [*routed, sockets, tickets, *([writing] if writing else [])]
            routes = [route for part in parts for route in part.routes()]
            cap = settings.body_kib * KIB
            app = client_app(routes, self._counts, Origins(settings), watch, cap, self._telemetry)
            app.on_shutdown.append(sockets.shutdown)
            yield app

    @contextlib.asynccontextmanager
    async def _writing(self, admission: Admission, stop: asyncio.Event) -> AsyncIterator[WriteRoutes | None]:
        if not self._settings.writes:
            yield None
            return
        topics = self._config.topics
        producer = Producer(self._config.kafka, [topics.tokens, topics.tool_results])
        await before(stop, until_available(producer.start, self._config.kafka.startup_timeout_s))
        try:
            writing = self._writes = WriteRoutes(self._config, producer, admission, self._counts, self._open_messages)
            try:
                yield writing
            finally:
                await writing.close(self._drain_left_s())
        finally:
            await producer.stop()

    def _open_messages(self, conversation: str) -> list[str] | None:
        key = conversation.encode()
        return self._streams.hub.open_messages(self._streams.tail.partition_of(key), key)

    def readiness(self) -> tuple[bool, str]:
        """Whether clients should be sent here; if not, why."""
        if self._watch.draining:
            return False, "draining"
        return heard(self._streams.tail, serving=self._begun)


def heard(tail: Tail, *, serving: bool) -> tuple[bool, str]:
    """Whether everything has started and Kafka answers the reader; if not, what is wrong."""
    if not serving:
        return False, "starting" if tail.partitions else "Kafka has not answered yet"
    silent = asyncio.get_running_loop().time() - tail.polled_at
    return (False, f"Kafka has not answered for {silent:.0f} s") if silent > SILENT_S else (True, "ready")


@contextlib.asynccontextmanager
async def listening(
    app: web.Application,
    watch: IdleConnections,
    bind: str,
    port: int,
    section: str,
    prefix: str,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[web.BaseSite]:
    """Listen while the block lasts, on the address and port of a section's settings `bind` and `port`."""
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, logger=server_log(), shutdown_timeout=1.0)
    with bound(bind, port, section, prefix) as sock:
        await runner.setup()
        assert runner.server is not None  # noqa: S101 -- it was set up
        try:
            async with beside(watch.run(runner.server), "the watch of idle connections") as watching:
                watching.add_done_callback(log_failure)
                site = web.SockSite(runner, sock, ssl_context=tls, backlog=BACKLOG)
                await site.start()
                log.info("%s.%sport: listening on %s port %d", section, prefix, bind, sock.getsockname()[1])
                yield site
        finally:
            await runner.cleanup()
