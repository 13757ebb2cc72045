"""The demo: start everything, play the sample conversations, check the results, sum up, clean up."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from rich.console import Console

from tokenmill.client import Connection, Follower, Publisher, Repeats
from tokenmill.demo.broker import embedded_broker
from tokenmill.demo.check import check, content
from tokenmill.demo.collect import Collector
from tokenmill.demo.gateway_streams import GatewayStreams
from tokenmill.demo.live import keep_writing
from tokenmill.demo.metrics import Metrics
from tokenmill.demo.samples import Sample, samples
from tokenmill.demo.summary import Phase, print_summary
from tokenmill.demo.turns import ABOUT, CONVERSATION, SERVERS, take_turns
from tokenmill.errors import FatalError
from tokenmill.events import AnyEvent
from tokenmill.servers import RedisServer
from tokenmill.servers.gateway import GatewayProcess
from tokenmill.servers.ours import Settings
from tokenmill.servers.process import deaths, start_all
from tokenmill.servers.tools import ToolsProcess
from tokenmill.servers.worker import WorkerProcess
from tokenmill.tasks import cancelled
from tokenmill.terminal.progress import progress_bar
from tokenmill.terminal.readable import EventPrinter

TOPICS = ("tokens", "events", "tool-calls", "tool-results", "tool-state", "tool-control", "tokens.dlq")

TITLE = "tokenmill demo: an embedded broker and Redis, a worker, a gateway, a runner of tools"

COPIES = 2
"""Copies of every sample in the second part: enough for dozens of open messages on every partition at a time."""

IN_FULL = {"plain", "hermes", "pythonic", "harmony"}
"""Formats whose conversations are shown with all their text and events; they stand for the others."""

IN_BRIEF = ("reasoning-start", "reasoning-delta", "reasoning-end", "tool-call", "finish")
"""Types of events that are shown for the other formats, so that a person can read all of them."""

SHOW_S = 5.0
"""Seconds that the first part takes if somebody watches; otherwise it does not pause."""

NO_CHUNK = b"no chunk"
"""A record that the worker can't read."""

FETCH_WAIT_MS = 10
"""Milliseconds that a fetch waits: the embedded broker waits for all of it, even if a record arrives meanwhile."""

ONE_DEADLINE_S = 30.0
"""Seconds for one conversation; a quiet machine needs a tenth of a second."""

ALL_DEADLINE_S = 60.0
"""Seconds for the second part; a quiet machine needs one."""


def run_demo(console: Console, *, keep: bool = False) -> None:
    """Run it all, and with `keep` stay until interrupted.

    Raises `FatalError` if an event is missing and `MissingServer` if something does not start.
    """
    with tempfile.TemporaryDirectory(prefix="tokenmill-demo-") as scratch, ExitStack() as running:
        folder = Path(scratch)
        console.print(TITLE, style="bold")
        bootstrap = running.enter_context(embedded_broker(TOPICS))
        redis = running.enter_context(RedisServer(folder / "redis"))
        console.print(f"  broker   {bootstrap}\n  redis    {redis.url}")
        settings = _settings(bootstrap, redis.url)
        kafka = {"kafka": settings["kafka"]}
        worker = WorkerProcess(folder / "worker", settings)
        gateway = GatewayProcess(folder / "gateway", kafka)
        tools = ToolsProcess(folder / "tools", kafka, SERVERS)
        with console.status("starting worker, gateway and tools"):
            start_all(running, (worker, gateway, tools))
        console.print(f"  worker   http://127.0.0.1:{worker.port}/metrics")
        console.print(f"  gateway  {gateway.url}")
        console.print(f"  tools    http://127.0.0.1:{tools.port}/metrics")
        try:
            asyncio.run(_play(console, Connection(bootstrap), worker, gateway, keep=keep))
        except FatalError as problem:
            raise FatalError(f"{problem}; {deaths((worker, gateway, tools))}".rstrip("; ")) from problem


def _settings(bootstrap: str, redis_url: str) -> Settings:
    return {
        "kafka": {"bootstrap_servers": bootstrap},
        "redis": {"url": redis_url},
        "worker": {"snapshot_interval_s": 1},
    }


async def _play(
    console: Console, connection: Connection, worker: WorkerProcess, gateway: GatewayProcess, *, keep: bool
) -> None:
    chosen = samples()
    live = console.is_terminal
    printer = EventPrinter(console, live=live)
    shown = {sample.name: _in_full(sample) for sample in chosen}

    def watch(event: AnyEvent) -> None:
        if shown.get(event.conversation_id, False) or (event.conversation_id in shown and event.type in IN_BRIEF):
            printer.show(event)

    async with (
        Publisher(connection) as publisher,
        _collecting(connection, watch) as collector,
        GatewayStreams(gateway.url) as served,
    ):
        with progress_bar() as bar:
            names = [sample.name for sample in chosen]
            await served.follow(
                names, ONE_DEADLINE_S, lambda open_: bar.at("streams of the gateway", open_, len(names))
            )
        pause_s = SHOW_S / sum(len(sample.chunks()) for sample in chosen) if live else 0
        for sample in chosen:
            await _show(console, sample, publisher, collector, pause_s)
        alone = Phase.of("one at a time", collector)
        await _crowd(console, chosen, publisher, collector)
        crowd = Phase.of("all at once", collector, alone)
        console.print()
        _title(console, CONVERSATION, ABOUT)
        await take_turns(console, EventPrinter(console, live=live), connection, publisher, FETCH_WAIT_MS)
        for sample in chosen:  # not before: the embedded broker lets the gateway wait for half a second each time
            await served.check(sample.name, collector.events[sample.name], ONE_DEADLINE_S)
        print_summary(console, [alone, crowd], Metrics(worker.metrics()))
        console.print(f"\nThe gateway served {len(chosen)} conversations over HTTP, each event as it is on the topic.")
        if keep:
            await keep_writing(console, publisher, _named("hermes", chosen), gateway.url)
    console.print("`tokenmill demo --keep` stays, with an address at which an answer can be read.", markup=False)


def _named(name: str, chosen: Sequence[Sample]) -> Sample:
    return next(sample for sample in chosen if sample.name == name)


def _in_full(sample: Sample) -> bool:
    return sample.name in IN_FULL or sample.name != sample.options["format"]


@asynccontextmanager
async def _collecting(connection: Connection, watch: Callable[[AnyEvent], None]) -> AsyncIterator[Collector]:
    """Yield a collector that reads in the background; its failure ends the block."""
    repeats = Repeats()
    async with Follower(connection, from_beginning=True, repeats=repeats, fetch_wait_ms=FETCH_WAIT_MS) as follower:
        collector = Collector(follower, watch)
        reading = asyncio.create_task(collector.run())
        try:
            yield collector
        finally:
            await cancelled(reading)
            if reading.done() and not reading.cancelled():
                reading.result()


async def _show(console: Console, sample: Sample, publisher: Publisher, collector: Collector, pause_s: float) -> None:
    """Play one conversation and print its events as they come; for most formats only what matters."""
    console.print()
    _title(console, sample.name, sample.about)
    if _in_full(sample):
        console.print(sample.text, style="dim", soft_wrap=True)
        console.print()
    await sample.publish(publisher, sample.name, pause_s)
    await collector.wait_for({sample.name}, ONE_DEADLINE_S)
    check(sample, collector.events[sample.name])


def _title(console: Console, name: str, about: str) -> None:
    console.print(f"── {name} ", style="bold", end="")
    console.print(about, soft_wrap=True)


async def _crowd(console: Console, chosen: Sequence[Sample], publisher: Publisher, collector: Collector) -> None:
    """Check that many copies of every conversation at the same time give the same events as one alone."""
    copies = {f"{sample.name}-{number}": sample for sample in chosen for number in range(COPIES)}
    console.print()
    _title(console, f"{len(copies)} conversations at once", f"{COPIES} copies of each")
    started = time.monotonic()
    with progress_bar() as bar:
        bar.at("finished", 0, len(copies))
        await publisher.send("nobody", NO_CHUNK)
        await asyncio.gather(
            collector.wait_for(copies.keys(), ALL_DEADLINE_S, lambda done: bar.at("finished", done, len(copies))),
            *(sample.publish(publisher, name) for name, sample in copies.items()),
        )
    took = time.monotonic() - started
    for name, sample in copies.items():
        check(sample, collector.events[name])
        if content(collector.events[name]) != content(collector.events[sample.name]):
            raise FatalError(f"the conversation {name!r} gave other events than {sample.name!r}, of the same chunks")
    console.print(f"  every copy gave the same events as the one alone, in {took:.1f} s")
    console.print(
        f"  {NO_CHUNK.decode()!r}, published among them, is no chunk: it is a dead letter, and all else went on",
        soft_wrap=True,
    )
