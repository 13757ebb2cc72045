"""Faust as the host: service tree, signals, web endpoints, on uvloop. Its own Kafka stays off.

Traps of the role, each closed here: tasks that end silently (`Engine.watched`), no deadline on stop
(`process.Deadline`), a web server that answers during the drain (`/readyz` is ours), redirected output, a debugger on
SIGUSR2, pages that show data, settings read from the environment.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import faust
import uvloop
from faust.app.base import BootStrategy as BaseBootStrategy
from faust.web import Request, Response, View
from mode import Service

from tokenmill.config import Config
from tokenmill.errors import FatalError
from tokenmill.garbage import tune_garbage_collector
from tokenmill.observe import Hooks, Numbers, exposition, setup_logs
from tokenmill.observe.telemetry_setup import telemetry_of
from tokenmill.process import EXIT_S, Deadline, bound, exit_code
from tokenmill.worker.service import WorkerService

log = logging.getLogger(__name__)


class BootStrategy(BaseBootStrategy):
    """Faust without its consumer, producer, tables and topics."""

    enable_kafka = False


class App(faust.App):
    """The application: web pages and one service."""

    BootStrategy = BootStrategy
    logger = logging.getLogger("faust.app")

    def _create_directories(self) -> None:
        """Make none: they are for Faust's tables, and a killed worker would leave them behind."""


class Worker(faust.Worker):
    """The process: signals and exit code."""

    def __init__(self, app: App, stopping: Callable[[], None], **options: Any) -> None:
        super().__init__(app, **options)
        self.spinner = None  # writes control characters
        self._stopping = stopping

    def _on_sigterm(self) -> None:
        self._stopping()
        super()._on_sigterm()

    def _on_sigint(self) -> None:
        self._on_sigterm()  # the host's own handler writes to the terminal

    def _on_sigusr2(self) -> None:
        log.warning("SIGUSR2 ignored: a debugger would hang the process")

    async def _sentinel_task(self) -> None:
        """Let closed connections end, which takes a turn of the loop: the host's own waits for a second."""
        await asyncio.sleep(0)

    def _setup_logging(self) -> None:
        """Do nothing: ours is set up already, and standard output stays as it is."""


def run_worker(config: Config, hooks: Hooks | None = None) -> int:
    """Run until SIGTERM or SIGINT (0) or until the worker can't continue (`exit_code`). Takes over the process.

    Raises `MissingExtra` before anything is started.
    """
    setup_logs(config.worker.log_format, config.worker.log_level)
    loop = uvloop.new_event_loop()
    asyncio.set_event_loop(loop)
    numbers = Numbers()
    deadline, telemetry = Deadline(), telemetry_of(config, "worker")
    failing = partial(deadline.start, EXIT_S, "failure")
    service = WorkerService(config, numbers, hooks or Hooks(), telemetry, failing=failing, loop=loop)
    try:
        app = make_app(config, service, numbers, loop)
    except FatalError as problem:
        log.critical("%s", problem)
        return 1
    seconds = config.worker.shutdown_timeout_s
    tune_garbage_collector()
    worker = Worker(app, lambda: deadline.start(seconds, "stop"), loop=loop, quiet=True, redirect_stdouts=False)
    try:
        worker.execute_from_commandline()
    except SystemExit as end:
        return int(end.code or 0) if service.failure is None else exit_code(service.failure)
    except FatalError as problem:
        log.critical("%s", problem)
    finally:
        telemetry.close()
    return 1


def make_app(config: Config, service: Service, numbers: Numbers, loop: asyncio.AbstractEventLoop) -> App:
    """Return Faust's application; every setting that could be read from elsewhere is set here."""
    app = App(
        "tokenmill",
        loop=loop,
        env={},  # Faust would let variables with names as common as WEB_PORT override what is set here
        autodiscover=False,
        broker="kafka://unused",
        store="memory://",
        cache="memory://",
        web_enabled=True,
        web_bind=config.worker.bind,
        web_host="localhost",
        web_port=_port(config.worker.bind, config.worker.port),
        web_in_thread=False,
        web_stats_enabled=False,
        web_graph_enabled=False,
        web_router_enabled=False,
        web_tables_enabled=False,
        web_metrics_enabled=False,
        worker_redirect_stdouts=False,
        topic_disable_leader=True,
        debug=False,
    )
    app.service(service)  # type: ignore[arg-type] # an instance will do, too
    _add_pages(app, service, exposition(numbers))
    return app


def _port(bind: str, port: int) -> int:
    """Return the port to listen on; for 0 a free one, as Faust has no option for that.

    Raises `FatalError` if it can't be had, before anything is started: the web server would report it in a trace.
    """
    with bound(bind, port, "worker") as probe:
        had: int = probe.getsockname()[1]
    if not port:
        log.info("worker.port is 0: listening on %d", had)
    return had


def _add_pages(app: App, service: Any, metrics: Callable[[], bytes]) -> None:
    @app.page("/metrics")
    async def _metrics(view: View, _request: Request) -> Response:
        return view.bytes(metrics(), content_type="text/plain; version=0.0.4")

    @app.page("/healthz")
    async def _healthz(view: View, _request: Request) -> Response:
        return view.text("ok\n")

    @app.page("/readyz")
    async def _readyz(view: View, _request: Request) -> Response:
        ready, why = service.readiness()
        return view.text(f"{why}\n", status=200 if ready else 503)
