"""What a client of the gateway costs, compared with a bare server of the same library that writes the same bytes.

Processor time of the serving process counts, not wall time: broker, clients and both servers share the machine.
Records are native events with their headers, as a worker publishes them; the two sides take turns.
"""

import asyncio
import itertools
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from aiokafka import AIOKafkaProducer

from tokenmill.bench.bare_server import BareServer
from tokenmill.bench.clock import Progress, p50_p99
from tokenmill.bench.gateway_report import LOADS, TICKS, Beside, Compared, Idle, Load, Report, Side, Wait
from tokenmill.bench.gateway_waits import measure_waits
from tokenmill.bench.kafka import created
from tokenmill.bench.processes import processor_seconds, resident_bytes
from tokenmill.bench.sse_clients import Clients, Got, Job
from tokenmill.client import Connection, Follower
from tokenmill.dialects.native import NATIVE
from tokenmill.errors import FatalError
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.streams.framing import SSE
from tokenmill.servers import KafkaServer
from tokenmill.servers.gateway import GatewayProcess
from tokenmill.servers.process import Server
from tokenmill.tasks import beside

PARTITIONS = 4
TOPIC = "events"

WARM_UP_S, MEASURED_S = 1.0, 5.0

SETTLE_S = 1.0
"""Seconds for data in flight to arrive."""

IDLE_S = 20.0
"""Seconds that are long enough for each idle connection to have a heartbeat."""

HEARTBEAT_S = 15

START = {"type": "message-start", "model": "", "format": "plain"}

STALLED = 1_000
"""Clients that ask and never read, of a conversation with more data than their sockets hold."""

STALLED_NAME = "nobody-reads"

STALLED_BYTES = 4_096
"""Bytes of each of its records: 160 kB per second."""

FULL_BYTES = 512 * 1024
"""Bytes that fill the sockets of clients that never read. Until then these are served like all others, which is a
considerable load: 160 MB per second."""

FULL_S = 30.0
"""Seconds for that to be sent: it takes about three."""

_SLOW = re.compile(r'^tokenmill_gateway_streams_ended_total\{reason="slow"\} (\S+)$', re.MULTILINE)


def run_gateway_bench(*, rounds: int, connections: int, progress: Progress) -> Report:
    """Measure with its own Kafka (java and mvn needed)."""
    with tempfile.TemporaryDirectory(prefix="tokenmill-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        kafka = stack.enter_context(KafkaServer(folder / "kafka"))
        progress("coming back, coming late, stopping")
        waits = measure_waits(folder, kafka.bootstrap)
        return asyncio.run(_Bench(folder, kafka.bootstrap, progress).run(rounds, connections, waits))


class _Bench:
    def __init__(self, folder: Path, bootstrap: str, progress: Progress) -> None:
        self._folder = folder
        self._bootstrap = bootstrap
        self._progress = progress
        self._message = 0

    async def run(self, rounds: int, connections: int, waits: list[Wait]) -> Report:
        async with (
            created(self._bootstrap, [TOPIC], PARTITIONS),
            AIOKafkaProducer(bootstrap_servers=self._bootstrap, linger_ms=0) as producer,
        ):
            compared = [await self._compare(load, rounds, producer) for load in LOADS]
            self._progress(f"{connections} idle connections")
            idle = await self._idle(connections)
            self._progress(f"{STALLED} clients that never read")
            beside = await self._beside(producer)
            follower = await self._follower(LOADS[0], producer)
        return Report(compared, idle, beside, waits, *follower)

    def _gateway(self, name: str) -> GatewayProcess:
        """Return a gateway that writes every frame immediately."""
        kafka = {"bootstrap_servers": self._bootstrap}
        settings = {"flush_ms": 0, "heartbeat_s": HEARTBEAT_S}
        return GatewayProcess(self._folder / name, {"kafka": kafka, "gateway": settings})

    async def _compare(self, load: Load, rounds: int, producer: AIOKafkaProducer) -> Compared:
        ours, bare = list[Side](), list[Side]()
        for number in range(rounds):
            self._progress(f"{load.name}, round {number + 1}")
            with self._gateway(f"gateway-{time.time_ns()}") as gateway:
                ours.append(await self._measure(gateway, load, lambda frames: self._publish(producer, load, frames)))
            with BareServer(self._folder / f"bare-{time.time_ns()}") as server:
                async with aiohttp.ClientSession() as session:
                    bare.append(await self._measure(server, load, lambda frames: _push(session, server.port, frames)))
        return Compared(load, ours, bare)

    async def _measure(self, server: Server, load: Load, send: Callable[[list[bytes]], Any]) -> Side:
        self._message += 1
        paths = [f"/v1/conversations/{_name(number % load.conversations)}/events" for number in range(load.clients)]
        with Clients(self._folder, Job(server.port, paths)) as clients:
            await send([_event(START, self._message, 0)])
            seq = await self._feed(load, send, 1, WARM_UP_S)
            before = processor_seconds(server.pid)
            sent = await self._feed(load, send, seq, MEASURED_S) - seq
            await asyncio.sleep(SETTLE_S)
            after = processor_seconds(server.pid)
            got = clients.got()
        expected = (seq + sent) * load.clients
        if got.cut or got.frames != expected:
            raise FatalError(f"{server.name}: {got.frames} of {expected} frames came, {got.cut} connections were cut")
        if before is None or after is None:
            raise FatalError("this system does not tell the processor time of another process")
        return Side((after - before) * 1e6 / (sent * load.clients), got.p50_ms, got.p99_ms)

    async def _feed(self, load: Load, send: Callable[[list[bytes]], Any], seq: int, seconds: float) -> int:
        """Send at a steady rate; return the next number."""
        started, ticks = time.monotonic(), round(seconds * TICKS)
        for tick in range(ticks):
            await asyncio.sleep(max(0.0, started + tick / TICKS - time.monotonic()))
            delta = {"type": "text-delta", "id": "t0", "delta": "a token or two "}
            await send([_event(delta, self._message, seq + number) for number in range(load.together)])
            seq += load.together
        return seq

    async def _publish(self, producer: AIOKafkaProducer, load: Load, events: list[bytes]) -> None:
        for number in range(load.conversations):
            for event in events:
                await self._send(producer, _name(number), self._message, event)

    async def _send(self, producer: AIOKafkaProducer, conversation: str, message: int, event: bytes) -> None:
        seq = msgspec.json.decode(event)["seq"]
        headers = [("tm-message-id", b"m%d" % message), ("tm-choice", b"0"), ("tm-seq", b"%d" % seq)]
        headers += [("tm-part", b"1/1"), ("tm-source-partition", b"0"), ("tm-opened", b"%d" % message)]
        await producer.send(TOPIC, event, key=conversation.encode(), headers=headers)

    async def _idle(self, connections: int) -> Idle:
        paths = [f"/v1/conversations/idle-{number}/events" for number in range(connections)]
        with self._gateway("idle") as gateway:
            empty = resident_bytes(gateway.pid)
            with Clients(self._folder, Job(gateway.port, paths)) as clients:
                full, before = resident_bytes(gateway.pid), processor_seconds(gateway.pid)
                await asyncio.sleep(IDLE_S)
                after = processor_seconds(gateway.pid)
                got: Got = clients.got()
        if got.cut or None in (empty, full, before, after):
            raise FatalError(f"{got.cut} idle connections were cut, or this system does not tell of other processes")
        return Idle(connections, (full - empty) / connections, (after - before) / IDLE_S)  # type: ignore[operator] # none is None

    async def _beside(self, producer: AIOKafkaProducer) -> Beside:
        load = Load("beside", 100, 100)
        paths = [f"/v1/conversations/{STALLED_NAME}/events"] * STALLED
        with self._gateway("beside") as gateway:

            async def measure() -> Side:
                return await self._measure(gateway, load, lambda events: self._publish(producer, load, events))

            await measure()  # warm up: some things are slow only once
            alone, before = await measure(), resident_bytes(gateway.pid)
            with Clients(self._folder, Job(gateway.port, paths, reads=False)):
                full = asyncio.Event()
                async with beside(self._flood(producer, full), "the flood"):
                    async with asyncio.timeout(FULL_S):
                        await full.wait()
                    crowded, after = await measure(), resident_bytes(gateway.pid)
                closed = _SLOW.search(gateway.metrics())
        if before is None or after is None:
            raise FatalError("this system does not tell the memory of another process")
        bytes_each = (after - before) / STALLED
        return Beside(load.clients, STALLED, int(float(closed[1])) if closed else 0, alone, crowded, bytes_each)

    async def _flood(self, producer: AIOKafkaProducer, full: asyncio.Event) -> None:
        """Send until cancelled."""
        message, event = self._message, START
        for seq in itertools.count():
            await self._send(producer, STALLED_NAME, message, _event(event, message, seq))
            event = {"type": "text-delta", "id": "t0", "delta": "x" * STALLED_BYTES}
            if seq * STALLED_BYTES > FULL_BYTES:
                full.set()
            await asyncio.sleep(1 / TICKS)

    async def _follower(self, load: Load, producer: AIOKafkaProducer) -> tuple[float, float]:
        ages: list[float] = []

        async def follow(follower: Follower) -> None:
            async for record in follower.records():
                ages.append(_age_ms(record.value))  # noqa: PERF401 -- it is cancelled, not ended

        self._message += 1
        topic = Follower(Connection(self._bootstrap), topic=TOPIC)
        async with topic as follower, beside(follow(follower), "the follower"):
            await self._feed(load, lambda frames: self._publish(producer, load, frames), 1, MEASURED_S)
            await asyncio.sleep(SETTLE_S)
        return p50_p99(ages)


def _age_ms(value: bytes) -> float:
    return time.time() * 1_000 - float(msgspec.json.decode(value)["time"])


def _name(number: int) -> str:
    return f"conversation-{number}"


def _event(fields: Mapping[str, object], message: int, seq: int) -> bytes:
    envelope = {"conversation_id": _name(0), "message_id": f"m{message}", "seq": seq, "time": int(time.time() * 1_000)}
    return msgspec.json.encode({**fields, **envelope})


async def _push(session: aiohttp.ClientSession, port: int, events: list[bytes]) -> None:
    """Send the bytes as the gateway frames them, in one write to each client."""
    frames = (Frame(number, 1, 0, event, b"") for number, event in enumerate(events))
    data = b"".join(SSE.frame(NATIVE, 0, frame) for frame in frames)
    async with session.post(f"http://127.0.0.1:{port}/push", data=data) as answer:
        answer.raise_for_status()
