"""The reference of the gateway's benchmark: the least work with which an aiohttp server can send bytes to all clients.

A client's stream is a `StreamResponse`; what is posted is written to each of them, one after the other. Run as
`python -m tokenmill.bench.bare_server PORT`.
"""

import asyncio
import sys
from collections.abc import Sequence

import uvloop
from aiohttp import web

from tokenmill.servers.process import Server, answer_of


class _Bare:
    def __init__(self) -> None:
        self._clients: set[web.StreamResponse] = set()

    async def stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b": open\n\n")
        self._clients.add(response)
        try:
            await asyncio.get_running_loop().create_future()  # until the client leaves
        finally:
            self._clients.discard(response)
        return response

    async def push(self, request: web.Request) -> web.Response:
        data = await request.read()
        for client in self._clients:
            await client.write(data)
        return web.Response()

    async def ready(self, _request: web.Request) -> web.Response:
        return web.Response(text="ready\n")


async def _serve(port: int) -> None:
    bare, app = _Bare(), web.Application()
    app.add_routes([web.post("/push", bare.push), web.get("/readyz", bare.ready), web.get("/{path:.*}", bare.stream)])
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=4_096).start()
    await asyncio.get_running_loop().create_future()


class BareServer(Server):
    """The bare server as a child process."""

    name = "the bare server"

    def command(self) -> Sequence[str]:
        return [sys.executable, "-m", __name__, str(self.port)]

    def ready(self) -> bool:
        return answer_of(f"http://127.0.0.1:{self.port}/readyz") is not None


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
