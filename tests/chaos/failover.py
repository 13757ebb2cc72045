"""One of three brokers is lost; how long until what is sent from then on is read, as events and by a plain client.

Records count when two brokers have them. A fault strikes one broker in one way, and is over after a while:

kill         the process is gone, and is started again
freeze       it hangs: connections stay, and nothing is answered
half-open    it hangs, and who wants to connect is not answered by the kernel either: the network has lost it
coordinator  it hangs, and it is the one that the group of the workers is kept by
controller   it hangs, and it is the one that says who leads what
reset        it keeps the group, and its clients' connections are reset twice a second
delay        it keeps the group, and what passes between it and its clients takes half a second each way

The plain client writes the input and reads it again (`plain_client`), so what nobody could have written counts for
both. Afterwards the outputs are the oracle's.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.chaos import plain_client
from tests.chaos.crew import Crew
from tests.chaos.relayed_cluster import RelayedCluster
from tests.chaos.run import SETTINGS
from tests.support.relay import Relay
from tests.support.stage import Stage, until, without_repeats
from tests.support.topics import admin_of
from tokenmill.kafka.calls import deadline, stopped
from tokenmill.servers import RedisServer

FAULTS = ("kill", "freeze", "half-open", "coordinator", "controller", "reset", "delay")

PARTITIONS = 6

SESSION_MS = 9_000
"""Without a sign of life, until the cluster takes a broker for dead: Kafka's default."""

BROKERS = {
    "broker.session.timeout.ms": str(SESSION_MS),
    "offsets.topic.num.partitions": str(PARTITIONS),
    "transaction.state.log.num.partitions": str(PARTITIONS),
    "request.timeout.ms": "5000",  # so long a transaction's end waits for a broker that hangs; 30 s by default
}

HELD_S = 40.0
"""A fault lasts so long: longer than anybody should need to go on without the broker."""

GIVEN_UP_S = 2 * SESSION_MS / 1000
"""A broker that hangs stays away so long at least: the cluster has taken it for dead, and all have moved on."""

LASTING = {"reset", "delay"}
"""These take no broker away: what they do to its clients has to go on for it to be seen."""

BACK_S = 60.0
"""For everybody to go on once it is over, on a busy machine."""

RESETS_S = 0.5
"""Between two resets: time enough to connect and to be answered once or twice."""

DELAY_S = 0.5
"""Each way: a request takes a second."""

BUDGET_S = 10.0
"""For the events of all partitions, above what the plain client needs, or the cluster to take a broker for dead."""


class Recovery(msgspec.Struct, kw_only=True):
    """Of one fault. Seconds by partition, from the fault until a record came that was sent after it."""

    delivery: str
    fault: str
    plain: dict[int, float]
    events: dict[int, float]
    ended: list[str]
    """Of each worker that ended by itself: why."""
    wrong: list[str]
    """Topics and partitions whose outputs are not the oracle's."""

    @property
    def later(self) -> float:
        """Seconds from when the plain client had all partitions back, or the cluster could have, to the last events.

        Partitions are not compared one by one: the plain client needs the leader of each, and events the coordinators
        of group and transactions too, which any broker may be.
        """
        return max(self.events.values()) - max(*self.plain.values(), SESSION_MS / 1000)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong, and nobody waits for too long."""
        return not self.wrong and self.later <= BUDGET_S

    def row(self) -> str:
        """Of a table."""
        plain, events = (
            f"{min(each.values()):.1f} to {max(each.values()):.1f} s" for each in (self.plain, self.events)
        )
        ends = f"ended: {'; '.join(self.ended) or 'none'}; wrong: {', '.join(self.wrong) or 'none'}"
        return f"{self.delivery}, {self.fault}: back after {plain} for a plain client, {events} for events; {ends}"


class Replicated(Stage):
    """Topics that all brokers hold, led by each of them in turn."""

    copies = 3


class Site(NamedTuple):
    """Where a fault may strike."""

    stage: Stage
    cluster: RelayedCluster
    relays: dict[int, Relay]

    async def victim(self, fault: str) -> int:
        """The broker that it strikes, by node id."""
        if fault == "controller":
            return self.cluster.controller()
        async with admin_of(self.stage.bootstrap) as admin:
            coordinator: int = await admin.find_coordinator(self.stage.group)
        if fault in {"kill", "freeze", "half-open"}:
            return next(node for node in self.cluster.brokers if node != coordinator)
        return coordinator


class Arrivals:
    """When events came: by partition, when their input was sent and when a reader of what is committed had them."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, float, float]] = []

    async def read(self, bootstrap: str, topic: str) -> None:
        """Until it is cancelled."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
        )
        await deadline(consumer.start(), "start a reader", BACK_S)
        consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
        try:
            while True:
                found = await consumer.getmany(timeout_ms=200)
                now = time.time()
                self.seen += [(tp.partition, each.timestamp / 1000, now) for tp in found for each in found[tp]]
        finally:
            await stopped(consumer)


def recovered(seen: Iterable[tuple[int, float, float]], since: float) -> dict[int, float]:
    """Seconds from then until the first came that was sent afterwards, by partition."""
    first: dict[int, float] = {}
    for number, sent, came in seen:
        if sent > since:
            first.setdefault(number, round(came - since, 1))
    return first


@contextmanager
def plain(stage: Stage, path: Path) -> Iterator[None]:
    """The plain client at work."""
    arguments = [stage.bootstrap, stage.topics.tokens, str(PARTITIONS), str(path)]
    process = subprocess.Popen([sys.executable, plain_client.__file__, *arguments], stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


class Noted:
    """What the plain client has read, as its file tells: of each look only what is new there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: list[tuple[int, float, float]] = []
        self._read = 0

    @property
    def seen(self) -> list[tuple[int, float, float]]:
        """By partition, when a record was sent and when it came. A line that is not whole is left for the next look."""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._read)
                lines, end, _ = file.read().rpartition(b"\n")
            self._read += len(lines + end)
            self._seen += [tuple(json.loads(line)) for line in lines.splitlines()]
        return self._seen


async def run(delivery: str, fault: str, folder: Path) -> Recovery:
    """One fault, from the start of everything to its end."""
    with RelayedCluster(folder / "kafka", settings=BROKERS) as cluster, RedisServer(folder / "redis") as redis:
        async with (
            cluster.relays() as relays,
            Replicated(folder, cluster.bootstrap, "failover", redis.url, PARTITIONS) as stage,
        ):
            for section, values in SETTINGS.items():
                stage.settings[section] |= values
            # Who waits too long is told so by a record of a worker's; those here are all the plain client's.
            stage.settings["worker"] |= {"delivery": delivery, "idle_timeout_s": 600}
            async with Crew(stage) as crew:
                return await _struck(stage, crew, Site(stage, cluster, relays), fault)


async def _struck(stage: Stage, crew: Crew, site: Site, fault: str) -> Recovery:
    noted, arrivals = Noted(stage.folder / "plain.jsonl"), Arrivals()
    reading = asyncio.create_task(arrivals.read(stage.bootstrap, stage.topics.events))
    try:
        with plain(stage, noted.path):
            await _all_since(noted, arrivals, time.time())
            began = time.time()
            async with _fault(site, fault):
                await _held(noted, arrivals, began, fault)
            await _all_since(noted, arrivals, began)
            await _all_since(noted, arrivals, time.time())
        await until(stage.caught_up, "no lag", BACK_S)
        ended = [life.last_words() for life in crew.lives if life.ended_at]
        await crew.stop()
        wrong = await _differences(stage)
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    return Recovery(
        delivery=stage.settings["worker"]["delivery"],
        fault=fault,
        plain=recovered(noted.seen, began),
        events=recovered(arrivals.seen, began),
        ended=ended,
        wrong=wrong,
    )


async def _held(noted: Noted, arrivals: Arrivals, began: float, fault: str) -> None:
    """A broker that is away comes back when all have gone on without it, or did not in a time that is long enough."""
    if fault in LASTING:
        await asyncio.sleep(HELD_S)
        return
    await asyncio.sleep(GIVEN_UP_S)
    with suppress(TimeoutError):
        async with asyncio.timeout(began + HELD_S - time.time()):
            await _all_since(noted, arrivals, began)


async def _all_since(noted: Noted, arrivals: Arrivals, since: float) -> None:
    def all_there() -> bool:
        return all(len(recovered(each.seen, since)) == PARTITIONS for each in (noted, arrivals))

    await until(all_there, "records of all partitions, plain and as events", BACK_S)


@asynccontextmanager
async def _fault(site: Site, fault: str) -> AsyncIterator[None]:
    node = await site.victim(fault)
    broker, relay = site.cluster.brokers[node], site.relays[node]
    if fault == "kill":
        broker.kill()
        yield
        await asyncio.to_thread(broker.start)
    elif fault == "reset":
        async with _reset_again_and_again(relay):
            yield
    elif fault == "delay":
        relay.delay_s = DELAY_S
        yield
        relay.delay_s = 0.0
    else:
        async with relay.deaf() if fault == "half-open" else nullcontext():
            broker.freeze()
            try:
                yield
            finally:
                broker.thaw()


@asynccontextmanager
async def _reset_again_and_again(relay: Relay) -> AsyncIterator[None]:
    async def reset() -> None:
        while True:
            relay.reset()
            await asyncio.sleep(RESETS_S)

    resetting = asyncio.create_task(reset())
    try:
        yield
    finally:
        resetting.cancel()
        await asyncio.gather(resetting, return_exceptions=True)


async def _differences(stage: Stage) -> list[str]:
    expected, found = await stage.expected(), await stage.found()
    if stage.settings["worker"]["delivery"] == "at-least-once":
        found = {place: without_repeats(contents) for place, contents in found.items()}
    places = sorted({*expected, *found})
    return [
        f"{topic}/{number}" for topic, number in places if expected.get((topic, number)) != found.get((topic, number))
    ]
