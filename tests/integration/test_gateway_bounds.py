"""What clients may cost: who reads nothing, or a byte a second, who never ends a request, and a thousand at once.

Each is bounded in memory and in time, is told nothing but the truth, and delays nobody else.
"""

import asyncio
import contextlib
import re
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.gateway_clients import answer, blocks, events_path, gateway_of, read_events, streams
from tests.support.gateways import answer as answer_of_model
from tests.support.sse import Block, Lines, Sse
from tests.support.stage import Stage, until
from tokenmill.gateway.http.idle_connections import HEAD_S
from tokenmill.records import Output
from tokenmill.servers.gateway import GatewayProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

MIB = 1024 * 1024

STALLED = 60

READING = 10

AHEAD = 10
"""Pieces that may be on their way to those who read: fewer than the gateway takes for slow, or a test that has no
processor for a moment would be closed, too."""

STALL_S = 2

PIECE = "x" * 8_000

PIECES = 200
"""1.6 MB in all: much more than a client may be behind with."""


@asynccontextmanager
async def gateway(stage: Stage, folder: Path, **settings: Any) -> AsyncIterator[GatewayProcess]:
    with ExitStack() as stack:
        process = gateway_of(stage, folder / "gateway", stack, lookback_s=1e6, **settings)
        await asyncio.to_thread(process.start)
        yield process


async def at_once(_number: int) -> None:
    """Nobody is waited for."""


async def publish(
    stage: Stage, conversation: str, message: str, pieces: int, turn: Callable[[int], Awaitable[None]] = at_once
) -> int:
    """Native events on the topic, as a worker writes them, each when it is its turn; how many."""
    return await say(stage, answer_of_model(conversation, message, [PIECE] * pieces), turn)


async def say(stage: Stage, records: list[Output], turn: Callable[[int], Awaitable[None]] = at_once) -> int:
    """These events, in the same way."""
    assert stage._producer is not None
    for number, record in enumerate(records):
        await turn(number)
        await stage._producer.send_and_wait(
            stage.topics.events,
            record.value,
            key=record.key,
            headers=list(record.headers),
            timestamp_ms=record.timestamp,
        )
    return len(records)


async def connected(port: int, path: str, window: int = 4_096) -> socket.socket:
    """A client that has asked, and reads when the test does."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
    sock.settimeout(0)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(sock, ("127.0.0.1", port))
    await loop.sock_sendall(sock, f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
    return sock


async def reset(sock: socket.socket) -> bool:
    """Whether the other side has ended it."""
    loop = asyncio.get_running_loop()
    try:
        while await loop.sock_recv(sock, 1 << 20):
            pass
    except ConnectionError:
        return True
    return True


async def collect(port: int, path: str, got: list[Block]) -> None:
    """All of an answer, as it comes."""
    async with answer(port, path) as found:
        async for block in blocks(found):
            got.append(block)  # noqa: PERF401 -- others look at it meanwhile


def memory(process: GatewayProcess) -> int:
    """Bytes of a process that are in memory."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * 4_096


async def test_those_who_read_nothing_delay_nobody_and_are_closed(stage: Stage, tmp_path: Path) -> None:
    """Beside clients that read: these get everything at once; memory stays within what the caps allow."""
    async with gateway(stage, tmp_path, stall_s=STALL_S, buffer_kib=128) as process, AsyncExitStack() as stack:
        path = events_path("c", from_="start", until="finish")
        await read_nothing_of("warm", stage, process)
        before = memory(process)
        stalled = [stack.enter_context(await connected(process.port, path)) for _ in range(STALLED)]
        got = [list[Block]() for _ in range(READING)]
        reading = [asyncio.create_task(collect(process.port, path, each)) for each in got]
        await until(lambda: streams(process) == STALLED + READING, "all are there", 30)
        peak = asyncio.create_task(highest(process))
        stack.push_async_callback(asyncio.wait, [peak])
        stack.callback(peak.cancel)

        async def taken(number: int) -> None:
            await until(lambda: min(map(len, got)) >= number - AHEAD, "those who read have what came before")

        count = await publish(stage, "c", "m", PIECES, taken)
        await asyncio.wait_for(asyncio.gather(*reading), 60)
        assert {len(each) for each in got} == {count}
        began = time.monotonic()
        await until(lambda: ended(process, "slow") == STALLED, "they are slow", 30)
        for sock in stalled:
            assert await asyncio.wait_for(reset(sock), 30)
        assert time.monotonic() - began < STALL_S + 15
        each = 512 * 1024
        assert memory(process) - before < 64 * MIB + STALLED * each
        assert highest_seen[process.pid] - before < 64 * MIB + STALLED * each


def ended(process: GatewayProcess, reason: str) -> int:
    """How many streams were, for this reason."""
    found = re.search(
        rf'^tokenmill_gateway_streams_ended_total{{reason="{reason}"}} (\S+)$', process.metrics(), re.MULTILINE
    )
    return int(float(found[1])) if found else 0


highest_seen: dict[int, int] = {}


async def highest(process: GatewayProcess) -> None:
    while True:
        highest_seen[process.pid] = max(highest_seen.get(process.pid, 0), memory(process))
        await asyncio.sleep(0.05)


async def read_nothing_of(conversation: str, stage: Stage, process: GatewayProcess) -> None:
    """Everything that is made once is made."""
    await publish(stage, conversation, "m", 3)
    await read_events(process.port, conversation, None, None, from_="start", until="finish")


async def test_one_frame_larger_than_a_buffer_cuts_nobody_off_who_reads(stage: Stage, tmp_path: Path) -> None:
    """Neither its connection's buffer nor the kernel's has room for it, and what comes behind it is little."""
    large = b"x" * 800_000
    records = [
        msgspec.structs.replace(record, value=(record.value or b"").replace(b"LARGE", large))
        for record in answer_of_model("c", "m", ["a", "LARGE", "b"])
    ]
    async with gateway(stage, tmp_path, buffer_kib=64) as process:
        with await connected(process.port, events_path("c", until="finish"), 65_536) as sock:
            await until(lambda: streams(process) == 1, "it is there", 30)
            await say(stage, records)
            got, loop = b"", asyncio.get_running_loop()
            async with asyncio.timeout(30):
                while not got.endswith(b"0\r\n\r\n"):
                    piece = await loop.sock_recv(sock, 16_384)
                    assert piece, "it was cut off"
                    got += piece
                    await asyncio.sleep(0.005)
        assert large in re.sub(rb"\r\n[0-9a-f]+\r\n", b"", got)


async def test_slow_readers_of_the_past_hold_up_nobody(stage: Stage, tmp_path: Path) -> None:
    """More of them than there are readers, each taking a byte a second of a long answer: others come to theirs."""
    await publish(stage, "long", "m", PIECES)
    await publish(stage, "short", "m", 2)
    settings: dict[str, Any] = {"catch_up_readers": 2, "stall_s": STALL_S}
    async with gateway(stage, tmp_path, **settings) as process, AsyncExitStack() as stack:
        path = events_path("long", from_="start")
        slow = [stack.enter_context(await connected(process.port, path)) for _ in range(8)]
        loop = asyncio.get_running_loop()
        for _ in range(3):
            for sock in slow:
                with contextlib.suppress(BlockingIOError, ConnectionError):
                    await asyncio.wait_for(loop.sock_recv(sock, 1), 5)
            began = time.monotonic()
            got = await read_events(process.port, "short", None, None, from_="start", until="finish")
            assert len(got) > 2
            assert time.monotonic() - began < 5
            await asyncio.sleep(1)
        for sock in slow:
            assert await asyncio.wait_for(reset(sock), 30)


async def test_half_a_request_holds_a_connection_for_seconds(stage: Stage, tmp_path: Path) -> None:
    """However slowly it comes; while others are served."""
    async with gateway(stage, tmp_path) as process:
        reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
        head = events_path("c").join(("GET ", " HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: "))
        writer.write(head.encode())
        began = time.monotonic()

        async def drip() -> None:
            with contextlib.suppress(ConnectionError):
                while True:
                    writer.write(b"x")
                    await writer.drain()
                    await asyncio.sleep(0.5)

        dripping = asyncio.create_task(drip())
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), HEAD_S + 20) == b""
        assert HEAD_S - 1 < time.monotonic() - began < HEAD_S + 15
        dripping.cancel()
        writer.close()
        async with answer(process.port, events_path("c")) as found:
            assert found.status == 200


async def test_who_is_told_to_come_back_loses_nothing(stage: Stage, tmp_path: Path) -> None:
    """SIGTERM in the middle of answers: the connection is reset, and after a restart the rest comes by id."""
    async with gateway(stage, tmp_path, drain_s=5) as process:
        count = await publish(stage, "c", "m", 3)
        clients = ("text/event-stream", "application/x-ndjson")
        opened = [asyncio.create_task(until_reset(process.port, form)) for form in clients]
        await until(lambda: streams(process) == len(clients), "both are there")
        running = process.process
        running.send_signal(signal.SIGTERM)
        told = await asyncio.wait_for(asyncio.gather(*opened), 30)
        assert await asyncio.to_thread(running.wait, 20) == 0
        more = await publish(stage, "c", "n", 3)
        await asyncio.to_thread(process.start)
        for form, (got, last) in zip(clients, told, strict=True):
            rest = await read_events(process.port, "c", {"accept": form}, None, last_event_id=last, until="finish")
            assert len(got) + len(rest) == count + more
            assert all(block.event != "gap" for block in rest)


async def until_reset(port: int, form: str) -> tuple[list[Any], str]:
    """What came before the connection was cut, and the last id."""
    got = list[Any]()
    async with answer(port, events_path("c", from_="start"), {"accept": form}, patience=None) as found:
        reader: Sse | Lines = Lines() if "ndjson" in form else Sse()
        with contextlib.suppress(ConnectionError):
            async for chunk in found.chunks():
                got += [block for block in reader.feed(chunk) if block.event != "retry"]
            raise AssertionError("it ended as if it were complete")
        return got, reader.last_id


async def test_a_thousand_come_at_once(stage: Stage, tmp_path: Path) -> None:
    """All of them are served, each with the whole answer."""
    count = await publish(stage, "c", "m", 1)
    async with gateway(stage, tmp_path) as process:
        tasks = [
            asyncio.create_task(read_events(process.port, "c", None, None, from_="start", until="finish"))
            for _ in range(1_000)
        ]
        for got in await asyncio.wait_for(asyncio.gather(*tasks), 120):
            assert len(got) == count
        assert "Traceback" not in process.log.read_text()
