"""The processes of `tokenmill front` and `tokenmill caller`, which may also be one: starts and stops their parts.

The start, in this order: the port for operators, the connection to Kafka, for as long as that may take, the port for
clients. The end: `/readyz` fails, new clients are refused, the clients of open streams are told to come back, and the
caller's answers get `caller.drain_s` to end.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

import msgspec
from aiohttp import web

from tokenmill.caller.answer import Resources
from tokenmill.caller.caller import Caller
from tokenmill.caller.finishes import Finishes
from tokenmill.caller.http import Http
from tokenmill.caller.renderer import Renderer
from tokenmill.caller.served import Served, served
from tokenmill.config import Config
from tokenmill.config.front_relations import NO_UPSTREAMS
from tokenmill.front.clocks import Clocks
from tokenmill.front.models import Models
from tokenmill.front.posts import Posts
from tokenmill.front.readers import OtherFronts, Readers
from tokenmill.front.request_index import RequestIndex
from tokenmill.front.request_log import RequestLog
from tokenmill.front.requests import Requests
from tokenmill.front.responses import Responses
from tokenmill.front.route_context import RouteContext
from tokenmill.front.server import front_app
from tokenmill.front.stops import Stops
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.authorizer import make_authorizer
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.event_log.gauges import read_tail_gauges
from tokenmill.gateway.host import heard, listening
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.open_files import allow_connections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.http.tls import server_context
from tokenmill.gateway.ingest.producer import Producer
from tokenmill.gateway.streams.service import StreamService
from tokenmill.kafka.calls import until_available
from tokenmill.limits import KIB
from tokenmill.observe import CALLER_METRICS, FRONT_METRICS, Numbers, exposition
from tokenmill.observe.ops import ops_app
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry
from tokenmill.process import EXIT_S, Deadline, ToldToStop, before, run_process, run_until

log = logging.getLogger(__name__)

ROUTES = (Posts, Responses, Models)
"""Classes of routes; each is made from the shared context."""

CALLER = "the caller"
"""Name of the part that ends by itself, once the answers that it runs are over."""


def run_front(config: Config, *, caller: bool) -> int:
    """Run the front, with or without a caller, until SIGTERM or SIGINT (returns 0) or a failure (returns 1)."""
    return _run(config, front=True, caller=caller)


def run_caller(config: Config) -> int:
    """Run a caller without a front, until SIGTERM or SIGINT (returns 0) or a failure (returns 1)."""
    return _run(config, front=False, caller=True)


def _run(config: Config, *, front: bool, caller: bool) -> int:
    models = served(config)

    async def main(stop: asyncio.Event, telemetry: Telemetry) -> None:
        if not config.upstreams:
            log.warning("%s", NO_UPSTREAMS)
        _allow_connections(config, front=front, caller=caller)
        await Process(config, models, telemetry, front=front, caller=caller).run(stop)

    return run_process(config, "front" if front else "caller", main)


def _allow_connections(config: Config, *, front: bool, caller: bool) -> None:
    """Let the process have the connections of clients, of answers, or of both."""
    numbers = {"gateway.connections": config.gateway.connections} if front else {}
    numbers |= {"caller.answers": config.caller.answers} if caller else {}
    allow_connections(sum(numbers.values()), " and ".join(numbers))


class Process:
    """The parts of a front, of a caller, or of both."""

    def __init__(
        self,
        config: Config,
        models: Mapping[str, Served],
        telemetry: Telemetry = NO_TELEMETRY,
        *,
        front: bool,
        caller: bool,
    ) -> None:
        self._config = config
        self._telemetry = telemetry
        self._models = models
        self._front = front
        self._with_caller = caller
        gateway = config.gateway
        self._numbers = Numbers([*(FRONT_METRICS if front else ()), *(CALLER_METRICS if caller else ())])
        if caller:
            self._numbers.read_value("tokenmill_caller_partitions", lambda: 0)  # until Kafka answers and it can join
        reading = gateway if front else msgspec.structs.replace(gateway, window_mib=1)
        self._streams = StreamService.of_topic(config.kafka, config.topics.events, reading, Counts(), telemetry)
        if front:
            names = "tokenmill_front_uncommitted_records", "tokenmill_front_poll_age_seconds"
            read_tail_gauges(self._numbers, self._streams.tail, *names)
        topics = config.topics
        self._producer = Producer(config.kafka, [topics.tokens, topics.requests])
        self._deadline = Deadline()
        self._watch = IdleConnections()
        self._begun = False
        self._ready: list[Callable[[], tuple[bool, str]]] = [lambda: heard(self._streams.tail, serving=self._begun)]

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop`. Raises a `TokenmillError` if the process can't continue."""
        with contextlib.suppress(ToldToStop):
            async with contextlib.AsyncExitStack() as running:
                await self._open_operators_port(running)
                await self._connected(stop, lambda: self._streams.tail.start(self._config.kafka.startup_timeout_s))
                running.push_async_callback(self._streams.stop)
                await self._connected(stop, self._streams.tail.pin_all)
                await self._connected(stop, self._producer.start)
                running.push_async_callback(self._producer.stop)
                parts = self._streams.parts
                clients = None
                if self._with_caller:
                    parts[CALLER] = partial((await self._make_caller(running, stop)).run, stop)
                if self._front:
                    clients, log_ = await self._open_clients_port(running, stop)
                    parts["the reader of requests"] = log_.run
                self._begun = True
                async with run_until(stop, parts, self._deadline) as tasks:
                    await self._drain(clients, tasks.get(CALLER))

    async def _connected(self, stop: asyncio.Event, connect: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Connect, trying for `kafka.startup_timeout_s`.

        Raises `Unavailable`, and `ToldToStop` if `stop` comes first.
        """
        await before(stop, until_available(connect, self._config.kafka.startup_timeout_s))

    async def _make_caller(self, running: contextlib.AsyncExitStack, stop: asyncio.Event) -> Caller:
        """Return a caller that is ready to run."""
        config, renderer = self._config, Renderer()
        running.push_async_callback(renderer.close)
        http = await running.enter_async_context(Http())
        native = config.parser.codec == "native"
        # A producer has one batch on its way to a broker, so with a single one, a request would wait for tokens.
        producer = Producer(config.kafka, [config.topics.tokens])
        await self._connected(stop, producer.start)
        running.push_async_callback(producer.stop)
        resources = Resources(
            self._models, producer, self._producer, http, renderer, config.topics.tokens, native=native
        )
        finishes = Finishes(self._streams.tail, self._streams.hub)
        caller = Caller(config, resources, finishes, self._numbers, self._telemetry)
        self._numbers.read_value("tokenmill_caller_running_limit", lambda: config.caller.answers)
        self._ready.append(caller.readiness)
        return caller

    async def _open_clients_port(
        self, running: contextlib.AsyncExitStack, stop: asyncio.Event
    ) -> tuple[web.BaseSite, RequestLog]:
        """Open the port for clients. Return it, and the reader of requests, which is still to be run."""
        config, numbers = self._config, self._numbers
        front, gateway = config.front, config.gateway
        authorizer = make_authorizer(gateway)
        await authorizer.prepare()
        admission = Admission(authorizer, ConnectionLimits(gateway.connections, gateway.connections_per_principal))
        telemetry = self._telemetry
        stops = Stops(self._producer, config.topics.tokens, config.topics.requests)
        readers = Readers(
            self._streams.hub, front.disconnect_s, stops.abandon, OtherFronts(self._producer, config.topics.requests)
        )
        running.push_async_callback(readers.close)
        index = RequestIndex(front.known_s, readers.read_elsewhere, readers.asked)
        requests_log = RequestLog(config.kafka, config.topics.requests, front.known_s, index.take)
        await self._connected(stop, requests_log.start)
        running.push_async_callback(requests_log.stop)
        requests = Requests(front, config.topics.requests, requests_log, index, self._producer)
        streams, clocks = self._streams, Clocks(numbers)
        context = RouteContext(config, self._models, streams, admission, requests, readers, stops, numbers, clocks)
        numbers.read_value("tokenmill_front_readers", lambda: readers.total)
        numbers.read_value("tokenmill_front_abandoned_total", lambda: readers.abandoned)
        numbers.read_value("tokenmill_front_known_requests", lambda: len(index))
        routes = [route for kind in ROUTES for route in kind(context).routes()]
        app = front_app(routes, numbers, Origins(gateway), self._watch, front.body_kib * KIB, telemetry)
        block = listening(app, self._watch, front.bind, front.port, "front", "", server_context(gateway))
        return await running.enter_async_context(block), requests_log

    async def _open_operators_port(self, running: contextlib.AsyncExitStack) -> None:
        front, caller, watch = self._config.front, self._config.caller, IdleConnections()
        app = ops_app(exposition(self._numbers), self.readiness, [watch.middleware()])
        place = (
            (front.ops_bind, front.ops_port, "front", "ops_")
            if self._front
            else (caller.bind, caller.port, "caller", "")
        )
        await running.enter_async_context(listening(app, watch, *place))

    async def _drain(self, clients: web.BaseSite | None, caller: "asyncio.Task[Any] | None") -> None:
        self._watch.draining = True
        config = self._config
        seconds = max(config.front.drain_s if self._front else 0, config.caller.drain_s if self._with_caller else 0)
        self._deadline.start(seconds + 2 * EXIT_S, "drain")
        if clients is not None:
            await clients.stop()  # new clients are refused, and find another process
            log.info("draining: telling the clients of %d streams to come back", self._streams.hub.close())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(config.front.drain_s):
                    await self._streams.flusher.emptied()
        if caller is not None:
            await asyncio.wait((caller,))

    def readiness(self) -> tuple[bool, str]:
        """Whether clients should be sent here, and the reason if not, or `ready`; for `/readyz`."""
        if self._watch.draining:
            return False, "draining"
        return next((found for found in (ready() for ready in self._ready) if not found[0]), (True, "ready"))
