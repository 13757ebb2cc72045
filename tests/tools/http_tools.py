"""A server of tools by HTTP that knows its sessions until a test says otherwise. It speaks the older protocol by hand.

Its tool `note` counts its calls, its tool `slow` waits until a test lets it go on. Its tools `promise` and `puzzle` say
what they answer, and answer something else; `letters` answers what it says.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tokenmill.servers.process import free_port
from tokenmill.tools.server_file import Remote

SESSION = "mcp-session-id"

UNKNOWN = {"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}}

ANSWERS: dict[str, Any] = {"promise": {"n": "many"}, "puzzle": {"n": "a" * 28 + "!"}, "letters": {"n": "\xe9t\xe9"}}


def _of(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"n": value}, "required": ["n"]}


TOOLS: list[dict[str, Any]] = [
    {"name": "note", "inputSchema": {"type": "object"}},
    {"name": "slow", "inputSchema": {"type": "object"}},
    {"name": "promise", "inputSchema": {"type": "object"}, "outputSchema": _of({"type": "integer"})},
    {"name": "puzzle", "inputSchema": {"type": "object"}, "outputSchema": _of({"pattern": "^(a+)+$"})},
    {"name": "letters", "inputSchema": {"type": "object"}, "outputSchema": _of({"pattern": r"^\p{L}+$"})},
]


class HttpTools:
    """What it knows, and what was asked of it."""

    def __init__(self, port: int) -> None:
        self.server = Remote("weather", f"http://127.0.0.1:{port}/mcp")
        self.sessions = set[str]()
        self.begun = 0
        """Sessions."""
        self.meta: dict[str, Any] = {}
        """What the last call said of itself."""
        self.noted = 0
        """Calls that were made."""
        self.refused = 0
        """Calls of sessions that were forgotten."""
        self.forgetful = False
        """A session is forgotten as soon as it calls."""
        self.says: dict[str, Any] | None = None
        """The error in the body of what is refused."""
        self.slow_s = 0.0
        """How long it takes to refuse."""
        self.fails: dict[str, Any] | None = None
        """The error that each call is answered with."""
        self.cut = False
        """The answer to a call is a stream that ends without it."""
        self.forgets_content = False
        """Of what it promised it answers nothing."""
        self.streamed: list[bytes] | None = None
        """A call is answered by a stream of events, which begins with these pieces."""
        self.status = 0
        """What every message is answered with instead, and its body, which is `detail`."""
        self.detail: str | dict[str, Any] = ""
        self.words = "noted"
        """What calls are answered with."""
        self.visited = list[str]()
        """How another address was asked."""
        self.let_go = asyncio.Event()
        """What `slow` waits for."""
        self.lists = asyncio.Event()
        """What its list waits for."""
        self.lists.set()
        self.ends = asyncio.Event()
        """What the end of a session waits for."""
        self.ends.set()

    def forget(self) -> None:
        """As a server does that was started anew."""
        self.sessions.clear()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One message."""
        asked = await request.json()
        method, number = asked["method"], asked.get("id")
        if self.status:
            return self._failed()
        if method == "initialize":
            return self._began(number, asked["params"]["protocolVersion"])
        if method == "tools/call" and self.forgetful:
            self.forget()
        if method != "server/discover" and request.headers.get(SESSION) not in self.sessions:
            return await self._refused(method)
        if method == "tools/call" and asked["params"]["name"] == "slow":
            await self.let_go.wait()
        if method == "tools/list":
            await self.lists.wait()
        if number is None:
            return web.Response(status=202)
        answer = self._answered(number, method, asked)
        stream = method == "tools/call" and self.streamed is not None
        return await self._as_stream(request, str(answer.text)) if stream else answer

    async def _as_stream(self, request: web.Request, answer: str) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await stream.prepare(request)
        for piece in (*(self.streamed or ()), f"data: {answer}\r\r".encode()):
            await stream.write(piece)
        return stream

    def _failed(self) -> web.Response:
        headers = {"location": "/elsewhere?secret=1"} if self.status < 400 else {}
        if isinstance(self.detail, str):
            return web.Response(status=self.status, text=self.detail, headers=headers)
        return web.json_response(self.detail, status=self.status, headers=headers)

    async def end(self, request: web.Request) -> web.Response:
        """The end of a session."""
        await self.ends.wait()
        self.sessions.discard(request.headers[SESSION])
        return web.Response(status=204)

    async def elsewhere(self, request: web.Request) -> web.Response:
        """What is at another address."""
        self.visited.append(request.method)
        return web.Response(status=404)

    def _began(self, number: int, version: str) -> web.Response:
        self.begun += 1
        self.sessions.add(str(self.begun))
        info = {"name": "weather", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        return web.json_response({"jsonrpc": "2.0", "id": number, "result": result}, headers={SESSION: str(self.begun)})

    async def _refused(self, method: str) -> web.Response:
        self.refused += method == "tools/call"
        await asyncio.sleep(self.slow_s)
        if self.says is None:
            return web.Response(status=404, text="nothing here")
        return web.json_response({"jsonrpc": "2.0", "id": None, "error": self.says}, status=404)

    def _answered(self, number: int, method: str, asked: dict[str, Any]) -> web.Response:
        if method == "server/discover":
            return web.json_response(UNKNOWN | {"id": number})
        result: dict[str, Any] = {"tools": TOOLS}
        if method == "tools/call" and self.cut:
            self.noted += 1
            return web.Response(body=b": nothing\n\n", content_type="text/event-stream")
        if method == "tools/call" and self.fails:
            return web.json_response({"jsonrpc": "2.0", "id": number, "error": self.fails})
        if method == "tools/call":
            self.noted += 1
            self.meta = asked["params"].get("_meta", {})
            result = {"content": [{"type": "text", "text": self.words}]}
            if (name := asked["params"]["name"]) in ANSWERS and not self.forgets_content:
                result["structuredContent"] = ANSWERS[name]
        return web.json_response({"jsonrpc": "2.0", "id": number, "result": result})


@asynccontextmanager
async def http_tools() -> AsyncIterator[HttpTools]:
    """One that listens as long as the block lasts."""
    port = free_port()
    tools, app = HttpTools(port), web.Application()
    app.add_routes([web.post("/mcp", tools.answer), web.delete("/mcp", tools.end)])
    app.router.add_route("*", "/elsewhere", tools.elsewhere)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield tools
    finally:
        await runner.cleanup()
