"""How soon the connection to a model server is closed after a client cancels its answer at the front."""

import asyncio
import time
from collections.abc import Set as AbstractSet

import aiohttp
import msgspec

from tokenmill.bench.clock import p50_p99
from tokenmill.bench.front_report import Stops
from tokenmill.bench.model_server import MODEL, ModelServer, now_us
from tokenmill.errors import FatalError

TOKENS = 10_000
"""Tokens of an answer: more than it can write before it is cancelled."""

UNDER_WAY = 5
"""Tokens that arrive before the answer is cancelled."""

AT_ONCE = 5
"""Answers that are cancelled at the same time."""

CLOSED_S = 10.0
"""Seconds for the model server to see the end of all connections."""

LOOK_S = 0.05


async def measure_stops(url: str, server: ModelServer, count: int) -> Stops:
    """Cancel `count` answers. Raises `FatalError` if one continues."""
    stopped: dict[str, int] = {}
    async with aiohttp.ClientSession() as session:
        for start in range(0, count, AT_ONCE):
            prompts = [f"cancel {number}" for number in range(start, min(count, start + AT_ONCE))]
            times = await asyncio.gather(*(_cancelled(session, url, prompt) for prompt in prompts))
            stopped |= dict(zip(prompts, times, strict=True))
    closed = await _closed(server, stopped.keys())
    return Stops(count, *p50_p99([(closed[prompt] - at) / 1_000 for prompt, at in stopped.items()]))


async def _cancelled(session: aiohttp.ClientSession, url: str, prompt: str) -> int:
    """Begin an answer, and cancel it; return the time of the cancel, in microseconds since the epoch."""
    body = {"model": MODEL, "input": prompt, "stream": True, "max_output_tokens": TOKENS}
    async with session.post(f"{url}/v1/responses", json=body) as answer:
        if not answer.ok:
            raise FatalError(f"no answer to cancel: {answer.status} {await answer.text()}")
        id_ = await _under_way(answer.content)
        at = now_us()
        async with session.post(f"{url}/v1/responses/{id_}/cancel") as cancelled:
            if not cancelled.ok:
                raise FatalError(f"it can't be cancelled: {cancelled.status} {await cancelled.text()}")
        await answer.read()
    return at


async def _under_way(lines: aiohttp.StreamReader) -> str:
    """Return the answer's id, once some tokens have arrived."""
    id_, tokens = "", 0
    while tokens < UNDER_WAY:
        line = await lines.readline()
        if not line:
            raise FatalError("an answer ended before it was cancelled")
        if line.startswith(b"data: {"):
            event = msgspec.json.decode(line.removeprefix(b"data: "))
            id_ = id_ or event.get("response", {}).get("id", "")
            tokens += event["type"] == "response.output_text.delta"
    return id_


async def _closed(server: ModelServer, prompts: AbstractSet[str]) -> dict[str, int]:
    """Return when the connections of these answers were closed, once all of them were."""
    until = time.monotonic() + CLOSED_S
    while time.monotonic() < until:
        closed = (await asyncio.to_thread(server.seen)).closed
        if prompts <= closed.keys():
            return closed
        await asyncio.sleep(LOOK_S)
    raise FatalError("the model server still writes answers that were cancelled")
