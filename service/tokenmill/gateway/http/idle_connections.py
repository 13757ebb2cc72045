"""Closes connections without a request: aiohttp waits an hour for the head of one, and ten thousand clients that send a
byte a second would take all places without ever being authenticated.

A connection has `HEAD_S` for the head of its first request, from the moment it is open; between an answer and the next
head it has `KEEP_S`. While a request is answered, other deadlines count.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from tokenmill.gateway.http.open_files import report_none_left

HEAD_S = 10.0
"""Seconds for the head of a request: a kilobyte or two, which takes a second on the slowest line."""

KEEP_S = 75.0
"""Seconds for the next head: longer than proxies keep idle connections to us, most of them 60 s: we must not be the
first to close, or a request that is on its way meets a closed connection."""

LOOK_S = 1.0
"""Seconds between two checks."""


class Connection(Protocol):
    """The used part of aiohttp's handler of a connection."""

    transport: asyncio.Transport | None

    def force_close(self) -> None: ...


class IdleConnections:
    """Closes connections of one port that have waited too long for a request."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.draining = False
        """Whether the process ends: connections are closed after each answer, so that clients find another process."""
        self._busy: set[Connection] = set()
        self._since: dict[Connection, float] = {}
        """Time at which each idle connection began to wait."""
        self._answered: set[Connection] = set()
        self._closing: dict[Connection, asyncio.Transport | None] = {}

    def middleware(self) -> Middleware:
        """Return a middleware that notes when a request begins and when it is answered."""

        @web.middleware
        async def watched(request: web.Request, handler: Handler) -> web.StreamResponse:
            self.begins(request.protocol)
            try:
                return await handler(request)
            finally:
                self.ends(request.protocol)

        return watched

    def begins(self, connection: Connection) -> None:
        """Note that the head of a request is complete."""
        self._busy.add(connection)

    def ends(self, connection: Connection) -> None:
        """Note that the answer is complete."""
        self._busy.discard(connection)
        self._answered.add(connection)
        self._since[connection] = self._now()

    def look(self, open_: Sequence[Connection]) -> int:
        """Close the open connections that have exceeded their time; return how many there were."""
        now = self._now()
        self._since = {each: self._since.get(each, now) for each in open_ if each not in self._busy}
        self._answered &= self._since.keys()
        late = [each for each, since in self._since.items() if now - since > self._time(each)]
        self._closing = {each: transport for each, transport in self._closing.items() if each in self._since}
        for connection in late:
            self._close(connection)
        return len(late)

    def _close(self, connection: Connection) -> None:
        """Close a connection; abort it at the next check, as a client that reads nothing never lets a close finish."""
        if connection not in self._closing:
            self._closing[connection] = connection.transport
            connection.force_close()
        elif (transport := self._closing[connection]) is not None:
            transport.abort()

    def _time(self, connection: Connection) -> float:
        return KEEP_S if connection in self._answered else HEAD_S

    async def run(self, server: web.Server) -> None:
        """Check the server's connections, and whether there can be more, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            report_none_left()
            self.look(server.connections)
