"""A server of Durable Streams whose reading side is a gateway, for the protocol's own conformance suite.

1. The suite writes before it reads. PUT and POST become the events of an answer on the gateway's topic, a `text-delta`
   for each thing that is appended, and a close becomes its end.
2. GET, HEAD and OPTIONS are the gateway's, headers and all. It serves events in JSON mode; the suite wants the bytes
   that it wrote: so the texts are taken out of the events, and those that have none are left out.
3. Producers that number what they write are judged by the gateway's own rules (`Sequences`).
4. What only a server can know that was asked to make a stream is the double's: 404, a content type, where a write ends.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from tests.support.gateways import Gate, Speaker
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.ingest.sequences import Sequences, claim_of
from tokenmill.gateway.problems import Refused
from tokenmill.gateway.routes.durable_framing import CLOSED, NEXT, SECURITY
from tokenmill.records import Output

OWN_HEADERS = {"content-type", "content-length", "transfer-encoding", "date", "server", "connection"}
"""Of the double, where it writes the body anew."""

SEEN_S = 20
"""What is written is read in milliseconds; a busy machine takes its time."""

LOOK_S = 0.001

LINE_END = re.compile(b"\r\n|\r|\n")
"""Any of them ends a line of server-sent events."""


class _Stream:
    """What was asked to be made, and the answer that it is on the topic."""

    def __init__(self, name: str, content_type: str) -> None:
        self.name = name
        self.content_type = content_type
        self.json = content_type.partition(";")[0] == "application/json"
        self.first = -1
        """Offset of its first record."""
        self._says = Speaker(name, "m").says

    def opened(self) -> list[Output]:
        """How the answer begins."""
        return self._says({"open": {"format": "plain"}, "delta": ""})

    def appended(self, body: bytes) -> list[Output]:
        """Each byte is a character of a text. An array is appended as its elements. Raises `ValueError`."""
        if not self.json:
            return self._says({"delta": body.decode("latin-1")})
        found = json.loads(body)
        values = found if isinstance(found, list) else [found]
        return [record for value in values for record in self._says({"delta": json.dumps(value)})]

    def closed(self) -> list[Output]:
        """How it ends."""
        return self._says({"finish_reason": "stop"})

    def shown(self, events: Iterable[dict[str, Any]]) -> bytes:
        """What was appended, out of the events that it became."""
        texts = _texts(events)
        return ("[" + ",".join(texts) + "]" if self.json else "".join(texts)).encode("latin-1")


def _texts(events: Iterable[dict[str, Any]]) -> list[str]:
    return [event["delta"] for event in events if event["type"] == "text-delta"]


class DurableDouble:
    """The server."""

    def __init__(self, gate: Gate, client: aiohttp.ClientSession) -> None:
        self._gate = gate
        self._client = client
        self._streams = dict[str, _Stream]()
        self._sequences = Sequences()

    def routes(self) -> list[web.RouteDef]:
        """All of them."""
        path = "/v1/stream/{name}"
        return [
            web.put(path, self.put),
            web.post(path, self.post),
            web.get(path, self.get, allow_head=False),
            web.head(path, self.head),
            web.options(path, self.options),
        ]

    async def put(self, request: web.Request) -> web.Response:
        """Make a stream, with something in it."""
        name, body = request.match_info["name"], await request.read()
        stream = self._streams[name] = _Stream(name, request.headers.get("content-type", "application/octet-stream"))
        place = await self._write(stream, stream.opened() + _written(request, stream, body))
        return web.Response(status=201, headers={NEXT: place} | SECURITY)

    async def post(self, request: web.Request) -> web.Response:
        """Append to it, or close it."""
        stream, body = self._stream(request), await request.read()
        try:
            async with self._sequences.turn(stream.name, claim := claim_of(request.headers)) as turn:
                headers = SECURITY if turn.repeat else await self._appended(request, stream, body)
                turn.done()
                return web.Response(status=200 if claim and not turn.repeat else 204, headers=headers | turn.headers())
        except ValueError as problem:
            raise web.HTTPBadRequest(text=str(problem)) from problem
        except Refused as refused:
            return refused.response()

    async def _appended(self, request: web.Request, stream: _Stream, body: bytes) -> dict[str, str]:
        records = _written(request, stream, body)
        if not records:
            raise ValueError("nothing is said")
        return {NEXT: await self._write(stream, records)} | SECURITY

    async def head(self, request: web.Request) -> web.Response:
        """The gateway's."""
        self._stream(request)
        async with self._client.head(self._url(request)) as found:
            return web.Response(status=found.status, headers=_kept(found))

    async def options(self, request: web.Request) -> web.Response:
        """The gateway's, to a page that asks beforehand."""
        async with self._client.options(self._url(request), headers=request.headers) as found:
            return web.Response(status=found.status, headers=_kept(found))

    async def get(self, request: web.Request) -> web.StreamResponse:
        """The gateway's, with what was appended instead of events."""
        stream = self._stream(request)
        headers = {name: value for name in ("if-none-match", "accept") if (value := request.headers.get(name))}
        query = request.query_string + "&until=finish"
        async with self._client.get(f"{self._url(request)}?{query}", headers=headers) as found:
            if found.content_type == "text/event-stream":
                return await _streamed(request, stream, found)
            body = await found.read()
            if found.status == 200:
                body = stream.shown(json.loads(body))
            kept = _kept(found) | {"content-type": stream.content_type}
            return web.Response(status=found.status, body=body, headers=kept)

    def _stream(self, request: web.Request) -> _Stream:
        try:
            return self._streams[request.match_info["name"]]
        except KeyError:
            raise web.HTTPNotFound(headers=SECURITY) from None

    def _url(self, request: web.Request) -> str:
        return f"{self._gate.url}/v1/streams/{request.match_info['name']}"

    async def _write(self, stream: _Stream, records: list[Output]) -> str:
        """Return where that ended, once the gateway has read it: a client that wrote reads next."""
        written = await self._gate.say(records)
        stream.first = written[0].offset if stream.first < 0 else stream.first
        partition, last = written[-1].partition, written[-1].offset
        tail = self._gate.serving.tail
        window = await tail.pin(partition)
        try:
            async with asyncio.timeout(SEEN_S):
                while window.end <= last:  # noqa: ASYNC110 -- it tells the readers of conversations only
                    await asyncio.sleep(LOOK_S)
        finally:
            tail.unpin(partition)
        return str(Position(partition, last, 1, last - stream.first))


def _written(request: web.Request, stream: _Stream, body: bytes) -> list[Output]:
    records = stream.appended(body) if body else []
    return records + (stream.closed() if request.headers.get(CLOSED) == "true" else [])


def _kept(found: aiohttp.ClientResponse) -> dict[str, str]:
    return {name: value for name, value in found.headers.items() if name.lower() not in OWN_HEADERS}


async def _streamed(request: web.Request, stream: _Stream, found: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"} | _kept(found))
    await response.prepare(request)
    rest = b""
    async for chunk in found.content.iter_any():
        *blocks, rest = (rest + chunk).split(b"\n\n")
        await response.write(b"".join(_block(stream, block) for block in blocks))  # what came at once goes at once
    return response


def _block(stream: _Stream, block: bytes) -> bytes:
    """What comes to the reader for one event of the gateway; all but `data` as it is."""
    name, _, content = block.partition(b"\ndata:")
    if name != b"event: data":
        return block + b"\n\n"
    events = json.loads(content)
    lines = LINE_END.split(stream.shown(events)) if _texts(events) else []
    return b"".join((b"event: data\n", *(b"data:%b\n" % line for line in lines), b"\n")) if lines else b""


@asynccontextmanager
async def doubled(gate: Gate) -> AsyncIterator[str]:
    """The double of a gateway, listening; its URL."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(aiohttp.ClientSession())
        app = web.Application()
        app.add_routes(DurableDouble(gate, client).routes())
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
