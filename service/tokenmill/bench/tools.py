"""The cost of a tool call through a runner, compared with a call that a program makes with the protocol's SDK.

Both sides call the same tool, which does nothing, of a server of their own, at the same times. What counts is the
processor time of the calling process and of the server, not the broker's.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from mcp import Client

from tokenmill.bench.clock import Progress, median_ratio, p50_p99
from tokenmill.bench.kafka import created
from tokenmill.bench.load import PARTITIONS
from tokenmill.bench.processes import processor_seconds
from tokenmill.errors import FatalError
from tokenmill.events import ToolCall, ToolResult, decode_event
from tokenmill.servers import KafkaServer
from tokenmill.servers.ours import Settings
from tokenmill.servers.tools import ToolsProcess
from tokenmill.tasks import beside
from tokenmill.tools.connection import connected
from tokenmill.tools.server_file import Program

A_SECOND = 10_000 / 60
"""Calls per second: ten thousand a minute."""

SIDE_BY_SIDE = 16
"""Concurrent calls: as many as a runner makes at one server."""

WARM_UP = 200

PATIENCE_S = 60.0

SERVER = Program("bench", sys.executable, ("-m", "tokenmill.bench.tool_server"))

TOPICS = ("tool-calls", "tool-results", "tool-state", "tool-control")

Call = Callable[[int], Awaitable[None]]
"""Makes the call of this number, and ends when its result is there."""

Spent = Callable[[], Awaitable[tuple[float, float]]]
"""Returns the seconds of processor time so far: of the calling process, and of the server."""


class Side(msgspec.Struct, frozen=True):
    """What calls cost in one round."""

    caller_ms: float
    """Milliseconds of processor time per call, of the calling process."""
    server_ms: float
    """Milliseconds of processor time per call, of the server."""
    p50_ms: float
    p99_ms: float
    """Milliseconds from the time at which a call is due until its result can be read."""

    @property
    def cost_ms(self) -> float:
        """Return the milliseconds of processor time per call."""
        return self.caller_ms + self.server_ms


class Report(msgspec.Struct, frozen=True):
    """All rounds."""

    calls: int
    direct: list[Side]
    runner: list[Side]

    @property
    def ratio(self) -> float:
        """Return the cost of a runner's call over that of the SDK's: the median of all rounds."""
        return median_ratio(*([side.cost_ms for side in sides] for sides in (self.runner, self.direct)))


def run_tools_bench(*, calls: int, rounds: int, progress: Progress) -> Report:
    """Measure both sides in turns, on a Kafka of its own."""
    with tempfile.TemporaryDirectory() as name, KafkaServer(Path(name) / "kafka") as kafka:
        return asyncio.run(_measured(Path(name), kafka.bootstrap, calls, rounds, progress))


async def _measured(folder: Path, bootstrap: str, calls: int, rounds: int, progress: Progress) -> Report:
    report = Report(calls, [], [])
    async with created(bootstrap, TOPICS), _running(folder, bootstrap) as (call, spent):
        for number in range(1, rounds + 1):
            progress(f"round {number} of {rounds}: the SDK")
            async with _direct() as (direct, direct_spent):
                report.direct.append(await _side(direct, direct_spent, calls))
            progress(f"round {number} of {rounds}: a runner")
            report.runner.append(await _side(call, spent, calls))
    return report


async def _side(call: Call, spent: Spent, calls: int) -> Side:
    await _made(call, WARM_UP)
    before = await spent()
    times = await _made(call, calls)
    caller_s, server_s = (after - ago for after, ago in zip(await spent(), before, strict=True))
    return Side(*(seconds * 1000 for seconds in (caller_s / calls, server_s / calls, *p50_p99(times))))


async def _made(call: Call, calls: int) -> list[float]:
    """Make this many calls, each at its time whatever becomes of the others; return the seconds that each took."""
    began = time.monotonic()

    async def timed(number: int) -> float:
        due = began + number / A_SECOND
        await asyncio.sleep(max(0, due - time.monotonic()))
        await call(number)
        return time.monotonic() - due

    async with asyncio.timeout(PATIENCE_S + calls / A_SECOND):
        return list(await asyncio.gather(*(timed(number) for number in range(calls))))


@asynccontextmanager
async def _direct() -> AsyncIterator[tuple[Call, Spent]]:
    """Yield calls with the SDK, in this process."""
    places = asyncio.Semaphore(SIDE_BY_SIDE)
    async with connected(SERVER, PATIENCE_S) as client:

        async def call(number: int) -> None:
            async with places:
                await client.call_tool("nothing", {"number": number})

        async def spent() -> tuple[float, float]:
            return time.process_time(), await _spent(client)

        yield call, spent


async def _spent(client: Client) -> float:
    answer = await client.call_tool("spent", {})
    if not isinstance(answer.structured_content, dict):
        raise FatalError("the server of the benchmark answers something else")
    return float(answer.structured_content["result"])


@asynccontextmanager
async def _running(folder: Path, bootstrap: str) -> AsyncIterator[tuple[Call, Spent]]:
    """Yield calls through the topics of a runner, which is a process of its own."""
    settings: Settings = {"kafka": {"bootstrap_servers": bootstrap}, "tools": {"calls_per_answer": 1_000_000}}
    process = ToolsProcess(folder / "tools", settings, {"bench": {"command": SERVER.command, "args": SERVER.args}})
    consumer = AIOKafkaConsumer("tool-results", bootstrap_servers=bootstrap, isolation_level="read_committed")
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer, consumer:
        await asyncio.to_thread(process.start)
        results = _Results(producer, consumer)

        async def spent() -> tuple[float, float]:
            answer = await results.of("bench__spent", {})
            return processor_seconds(process.pid) or 0.0, float(answer.result["structuredContent"]["result"])

        try:
            async with beside(results.read(), "the reader"):
                yield results.checked, spent
        finally:
            process.kill()


class _Results:
    """Puts calls on their topic, and waits for their results."""

    def __init__(self, producer: AIOKafkaProducer, consumer: AIOKafkaConsumer) -> None:
        self._producer = producer
        self._consumer = consumer
        self._waiting: dict[str, asyncio.Future[ToolResult]] = {}
        self._calls = 0

    async def read(self) -> None:
        """Read results until cancelled."""
        async for record in self._consumer:
            event = decode_event(record.value)
            if isinstance(event, ToolResult):
                self._waiting.pop(event.id).set_result(event)

    async def checked(self, number: int) -> None:
        """Call the tool that does nothing. Raises `FatalError` if that fails."""
        answer = await self.of("bench__nothing", {"number": number})
        if answer.error:
            raise FatalError(f"a call failed: {answer.error}")

    async def of(self, name: str, arguments: dict[str, int]) -> ToolResult:
        """Make a call, and return its result."""
        self._calls += 1
        id_ = f"call_{self._calls}"
        waiting: asyncio.Future[ToolResult] = asyncio.get_running_loop().create_future()
        self._waiting[id_] = waiting
        event = ToolCall(id_, name, arguments, conversation_id=f"c{self._calls}", message_id="m", seq=1, time=1)
        await self._producer.send(
            "tool-calls",
            msgspec.json.encode(event),
            key=event.conversation_id.encode(),
            partition=self._calls % PARTITIONS,
            headers=[("tm-message-id", b"m"), ("tm-opened", b"1")],
        )
        return await waiting
