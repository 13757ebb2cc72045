"""How the front's benchmark takes the time of cancels: against a front that closes, and one that does not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tokenmill.bench import front_stops
from tokenmill.bench.front_stops import measure_stops
from tokenmill.bench.model_server import MODEL, ModelServer
from tokenmill.errors import FatalError

pytestmark = pytest.mark.integration

DELTA = b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta"}\n\n'


class SmallFront:
    """Responses of a model server, cancelled by their ids; `leaves` says whether that closes the connection."""

    def __init__(self, upstream: str, *, leaves: bool) -> None:
        self._upstream = upstream
        self._leaves = leaves
        self._stops: dict[str, asyncio.Event] = {}
        self.left_open: list[tuple[aiohttp.ClientSession, aiohttp.ClientResponse]] = []

    async def create(self, request: web.Request) -> web.StreamResponse:
        """Five tokens, then nothing until it is cancelled."""
        asked = await request.json()
        id_ = f"resp_{len(self._stops)}"
        self._stops[id_] = asyncio.Event()
        body = {"model": MODEL, "messages": [{"role": "user", "content": asked["input"]}], "max_tokens": 1_000}
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        created = f'data: {{"type":"response.created","response":{{"id":"{id_}"}}}}\n\n'
        await response.write(created.encode() + DELTA * 5)
        session = aiohttp.ClientSession()
        asking = await session.post(f"{self._upstream}/v1/chat/completions", json=body)
        await self._stops[id_].wait()
        if self._leaves:
            asking.close()
            await session.close()
        else:
            self.left_open.append((session, asking))
        return response

    async def cancel(self, request: web.Request) -> web.Response:
        """Stop it."""
        self._stops[request.match_info["id"]].set()
        return web.json_response({})


@asynccontextmanager
async def small_front(upstream: str, *, leaves: bool = True) -> AsyncIterator[str]:
    """Where it is."""
    front, app = SmallFront(upstream, leaves=leaves), web.Application()
    app.add_routes([web.post("/v1/responses", front.create), web.post("/v1/responses/{id}/cancel", front.cancel)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        for session, asking in front.left_open:
            asking.close()
            await session.close()
        await runner.cleanup()


async def test_each_cancel_is_timed_until_the_connection_is_closed(tmp_path: Path) -> None:
    """As many as were asked for, some side by side."""
    with ModelServer(tmp_path, 50) as server:
        async with small_front(server.url) as url:
            stops = await measure_stops(url, server, 7)
    assert stops.count == 7
    assert 0 < stops.p50_ms <= stops.p99_ms


async def test_an_answer_that_goes_on_fails_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for, but not for ever."""
    monkeypatch.setattr(front_stops, "CLOSED_S", 0.2)
    with ModelServer(tmp_path, 50) as server:
        async with small_front(server.url, leaves=False) as url:
            with pytest.raises(FatalError, match="still writes"):
                await measure_stops(url, server, 2)


async def test_a_front_that_refuses_fails_it(tmp_path: Path) -> None:
    """With what it says."""
    with ModelServer(tmp_path, 50) as server:
        async with small_front(server.url) as url:
            with pytest.raises(FatalError, match="no answer to cancel: 404"):
                await measure_stops(f"{url}/elsewhere", server, 2)
