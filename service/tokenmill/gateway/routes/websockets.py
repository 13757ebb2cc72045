"""`GET /v1/conversations/{conversation}/ws` and `GET /v1/ws`: the same events over a WebSocket.

1. A client whose URL has the request is served immediately; otherwise its first frame has to make it, within seconds.
   Browsers can't set headers, so the frame may have `authorization`, too.
2. `/v1/ws` reads several conversations, each with its own place: `subscribe` and `unsubscribe`. The other address reads
   one, and is closed with it: with 1000 after the end of the answer, if `until` is `finish`.
3. 1001 means that the process ends, 1008 that something is not allowed or not understood, after an `error` message,
   1009 that a frame is too large, 1012 that the topic has grown, 1013 that the client should come back later: it was
   too slow or silent, or was refused for what passes (429, 503).
4. `stop` and `tool_result` are written as posts are; the answer is a message with the same name as `event`.
"""

from collections.abc import Mapping
from weakref import WeakSet

from aiohttp import web

from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.grant import Action
from tokenmill.gateway.problems import BAD_REQUEST, Refused
from tokenmill.gateway.streams.service import StreamService
from tokenmill.gateway.websocket.client_frames import FRAME_BYTES
from tokenmill.gateway.websocket.pipe import WebSocketPipe
from tokenmill.gateway.websocket.server_frames import SHUTDOWN
from tokenmill.gateway.websocket.session import Shared, WebSocketSession, Write

WRITES: Mapping[str, Action] = {"stop": "stop", "tool_result": "write"}
"""Types of frames with which clients write, and the action that each needs."""


class WebSocketRoutes:
    """Opens a socket for each request to the two addresses, and closes all of them when the process ends."""

    def __init__(self, serving: StreamService, admission: Admission, writes: Mapping[str, Write]) -> None:
        """`writes` are the functions for `stop` and `tool_result`."""
        self._shared = Shared(serving, admission, {name: (WRITES[name], write) for name, write in writes.items()})
        self._sockets: WeakSet[WebSocketSession] = WeakSet()

    def routes(self) -> list[web.RouteDef]:
        """Return the routes for the application."""
        return [
            web.get("/v1/conversations/{conversation}/ws", self.one, allow_head=False),
            web.get("/v1/ws", self.many, allow_head=False),
        ]

    async def shutdown(self, _app: web.Application) -> None:
        """Close all sockets, even those that read nothing; a handler of `on_shutdown`."""
        for socket in tuple(self._sockets):
            socket.send_back(SHUTDOWN)

    async def one(self, request: web.Request) -> web.StreamResponse:
        """Open a socket that reads one conversation, and is closed with it."""
        return await self._opened(request, request.match_info["conversation"])

    async def many(self, request: web.Request) -> web.StreamResponse:
        """Open a socket that reads several conversations."""
        return await self._opened(request, None)

    async def _opened(self, request: web.Request, conversation: str | None) -> web.StreamResponse:
        response = web.WebSocketResponse(autoping=False, compress=False, max_msg_size=FRAME_BYTES, timeout=2.0)
        if not _is_handshake(request, response):
            raise Refused(BAD_REQUEST, "this address is for WebSockets (RFC 6455); use /events for a stream over HTTP")
        await response.prepare(request)
        pipe = WebSocketPipe(request, self._shared.serving.settings.stall_s)
        socket = WebSocketSession(self._shared, request, response, pipe, conversation)
        self._sockets.add(socket)
        await socket.run()
        return response


def _is_handshake(request: web.Request, response: web.WebSocketResponse) -> bool:
    try:
        return response.can_prepare(request).ok
    except ValueError:  # the library decodes or quotes a header, whose bytes may not be text
        return False
