"""Requests and frames that nobody should send, by the thousand: each is answered or cut off, and the process goes on.

`TOKENMILL_GATEWAY_FUZZ=100000` makes it as many of each; a seed gives the same in every run.
"""

import asyncio
import os
import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from websockets.frames import Close, Opcode
from websockets.frames import Frame as Wire
from websockets.streams import StreamReader

from tests.support.gateway_clients import gateway_of, read_events
from tests.support.gateway_soup import frames, request
from tests.support.sockets import HANDSHAKE
from tests.support.stage import Stage, until
from tokenmill.servers.gateway import GatewayProcess

INPUTS = int(os.environ.get("TOKENMILL_GATEWAY_FUZZ", "2000"))
SEED = 15

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(300 + INPUTS // 50)]

AT_ONCE = 200
"""Connections side by side."""

READERS = 40
"""Descriptors that consumers of the past may have by then, which are kept: far fewer than one for each connection."""

MEMORY = 96 * 1024 * 1024
"""What the process may have taken by then: window, readers and rendered views, whatever the number of inputs."""

PATIENCE_S = 60.0
"""For what has to come: a busy machine takes its time."""

FIRST_S = 1.0
"""So long without its first byte, there is no answer: some requests are never complete, others read the past first."""

QUIET_S = 0.2
"""So long without another byte, an answer is over: streams stay open."""

_STATUS = re.compile(rb"^HTTP/1\.[01] (\d{3})", re.MULTILINE)


@pytest.fixture
async def gateway(stage: Stage, tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    """All routes, on a topic with an answer."""
    with ExitStack() as stack:
        process = gateway_of(stage, tmp_path / "gateway", stack, flush_ms=0)
        await asyncio.gather(stage.start(), asyncio.to_thread(process.start))
        await stage.send("c", {"message_id": "m", "delta": "Some text.", "finish_reason": "stop"})
        await read_events(process.port, "c", from_="start", until="finish")
        yield process


async def answered(port: int, opening: bytes, sent: bytes) -> bytes:
    """What comes back, until it is quiet or over; an opening is answered with a head before the rest is sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    got = b""
    try:
        writer.write(opening or sent)
        if opening:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
            assert head.startswith(b"HTTP/1.1 101 "), head
            writer.write(sent)
        await writer.drain()
        while data := await asyncio.wait_for(reader.read(65_536), QUIET_S if got else FIRST_S):
            got += data
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    return got


def held(process: GatewayProcess) -> tuple[int, int]:
    """Descriptors and bytes that the process has."""
    place = Path(f"/proc/{process.pid}")
    return len(list((place / "fd").iterdir())), int((place / "statm").read_text().split()[1]) * 4_096


async def survives(
    process: GatewayProcess, made: Callable[[random.Random], bytes], opening: bytes = b""
) -> list[tuple[bytes, bytes]]:
    """Send all of them; what was sent, and what came. Nothing may be left behind, or in the log."""
    dice, before, seen = random.Random(SEED), held(process), list[tuple[bytes, bytes]]()
    for _ in range(INPUTS // AT_ONCE):
        batch = [made(dice) for _ in range(AT_ONCE)]
        answers = await asyncio.gather(*(answered(process.port, opening, each) for each in batch))
        seen += zip(batch, answers, strict=True)
    await until(lambda: held(process)[0] <= before[0] + READERS, "connections are closed", PATIENCE_S)
    assert held(process)[1] < before[1] + MEMORY
    log = process.log.read_text()
    assert "Traceback" not in log
    assert " ERROR " not in log
    assert await read_events(process.port, "c", from_="start", until="finish")
    return seen


async def test_no_request_is_answered_with_an_error_of_ours(gateway: GatewayProcess) -> None:
    """To any route: statuses below 500 only."""
    statuses: set[int] = set()
    for sent, got in await survives(gateway, request):
        found = {int(status) for status in _STATUS.findall(got)}
        assert all(status < 500 for status in found), (sent, got[:500])
        statuses |= found
    assert {200, 204, 400, 404, 405, 415} <= statuses


async def test_no_frame_ends_in_an_error_of_ours(gateway: GatewayProcess) -> None:
    """Behind a handshake: what comes back are frames, and codes that say whose mistake it was."""
    codes: set[int] = set()
    for _, got in await survives(gateway, frames, HANDSHAKE):
        codes |= {Close.parse(bytes(each.data)).code for each in parsed(got) if each.opcode is Opcode.CLOSE}
    assert {1002, 1007, 1008} <= codes
    assert 1011 not in codes


def parsed(data: bytes) -> list[Wire]:
    """A server's frames in these bytes; the last may be cut off by its client."""
    reader, found = StreamReader(), list[Wire]()
    reader.feed_data(data)
    reader.feed_eof()
    with suppress(EOFError):
        while len(reader.buffer):
            parsing = Wire.parse(reader.read_exact, mask=False, max_size=None)
            try:
                while True:
                    next(parsing)
            except StopIteration as done:
                found.append(done.value)
    return found
