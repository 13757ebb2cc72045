"""Requests that nobody should send, by the thousand: each is answered or cut off, none ends in a trace or hangs.

`TOKENMILL_GATEWAY_FUZZ=100000` makes it as many; a seed gives the same requests in every run.
"""

import asyncio
import gc
import logging
import os
import random
import re
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.gateways import admission, answer, listening
from tokenmill.config import Gateway
from tokenmill.gateway.messages import Messages
from tokenmill.gateway.rights import make_rights
from tokenmill.gateway.ticket_posts import TicketPosts

pytestmark = pytest.mark.integration

REQUESTS = int(os.environ.get("TOKENMILL_GATEWAY_FUZZ", "2000"))
SEED = 15

AT_ONCE = 200
"""Connections side by side."""

READERS = 40
"""Descriptors that consumers of the past may have by then, which are kept: far fewer than one for each request."""

QUIET_S = 0.2
"""So long without a byte, an answer is over: streams stay open."""

PATHS = (
    "/v1/conversations/c/events",
    "/v1/conversations/c/events?from=start&until=finish",
    "/v1/conversations/c/events?from=message&dialect=openai",
    "/v1/conversations/%F0%9F%98%80%2F/events?from=0.00000000000000000002.00001~2",
    "/v1/conversations/c/messages/m/events",
    "/v1/conversations/c/ticket",
    "/",
)
HEADERS = (
    "accept: text/event-stream",
    "accept: application/x-ndjson",
    "last-event-id: 0.00000000000000000001.00001~1",
    "origin: http://127.0.0.1",
    "origin: null",
    "content-length: 3",
    "content-length: -1",
    "transfer-encoding: chunked",
    "connection: upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
    "expect: 100-continue",
    "authorization: Bearer x",
    "range: bytes=0-1",
    "x-api-key: \xff\xfe",
)
WORDS = (b"\x00", b"\r\n", b"\n", b"%00", b"%ff", b"%2e%2e", b"~", b"9" * 40, b"\xc3\x28", b"from=", b"a" * 20_000)

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")


def request(dice: random.Random) -> bytes:
    """One that is nearly right, with some of it changed."""
    method = dice.choice(["GET"] * 6 + ["POST", "HEAD", "OPTIONS", "DELETE", "PATCH", "BREW"])
    headers = [*dice.sample(HEADERS, dice.randrange(4))]
    host = [] if dice.random() < 0.05 else ["host: 127.0.0.1"]
    lines = [f"{method} {dice.choice(PATHS)} HTTP/1.{dice.choice('1110')}", *host, *headers]
    body = dice.choice([b"", b"{}", b"abc", b'{"actions":["read"]}', b"3\r\nabc\r\n0\r\n\r\n"])
    return mutated("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body, dice)


def mutated(data: bytes, dice: random.Random) -> bytes:
    """Some bytes of it replaced, removed, doubled, cut off; or none."""
    for _ in range(dice.choice((0, 0, 1, 1, 2, 4))):
        at = dice.randrange(len(data) + 1)
        data = dice.choice(
            (
                data[:at] + dice.choice(WORDS) + data[at:],
                data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :],
                data[:at] + data[at + dice.randrange(1, 9) :],
                data[:at] + data[max(0, at - 20) :],
                data[:at] if dice.random() < 0.3 else data,
            )
        )
    return data


async def answered(port: int, sent: bytes) -> bytes:
    """What comes back, until it is quiet or over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    got = b""
    try:
        writer.write(sent)
        await writer.drain()
        while data := await asyncio.wait_for(reader.read(65_536), QUIET_S):
            got += data
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    return got


def descriptors() -> int:
    """Files and sockets that this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_no_request_is_answered_with_an_error_of_ours(
    kafka: str, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Statuses below 500 only, nothing in the log but warnings, and no connection or stream left behind."""
    caplog.set_level(logging.ERROR)
    dice, door = random.Random(SEED), make_rights(Gateway())
    statuses: set[int] = set()
    async with listening(
        kafka,
        unique,
        lambda serving: [*Messages(serving, admission()).routes(), *TicketPosts(door, 60).routes()],
    ) as gate:
        await gate.say(answer("c", "m", ["some ", "text"]))
        await answered(gate.port, b"GET /v1/conversations/c/events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        before = descriptors()
        for _ in range(REQUESTS // AT_ONCE):
            batch = [request(dice) for _ in range(AT_ONCE)]
            for sent, got in zip(
                batch, await asyncio.gather(*(answered(gate.port, each) for each in batch)), strict=True
            ):
                found = {int(status) for status in _STATUS.findall(got)}
                assert all(status < 500 for status in found), (sent, got[:500])
                statuses |= found
        async with asyncio.timeout(30):
            while gate.serving.flusher.streams or descriptors() > before + READERS:
                gc.collect()
                await asyncio.sleep(0.1)
    assert {200, 400, 404, 405} <= statuses
    assert [record.getMessage() for record in caplog.records] == []
