"""Closes connections that ask for nothing: aiohttp waits an hour for the head of a request, and ten thousand who send a
byte a second would take all places without ever being asked who they are.

A connection has `HEAD_S` for the head of its first request, from the moment it is open; between an answer and the next
head it has `KEEP_S`. While a request is answered, other deadlines count.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

HEAD_S = 10.0
"""A head is a kilobyte or two: a second on the worst line there is."""

KEEP_S = 75.0
"""Longer than proxies keep idle connections to us, most of them 60 s: who closes first must not be we, or a request
that is on its way meets a closed connection."""

LOOK_S = 1.0
"""Between two looks."""


class Connection(Protocol):
    """What is needed of aiohttp's handler of a connection."""

    transport: asyncio.Transport | None

    def force_close(self) -> None: ...


class IdleConnections:
    """Closes connections of one port that wait for too long for a request."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.draining = False
        """The process ends: connections are closed behind each answer, as whoever comes again is to find another."""
        self._busy: set[Connection] = set()
        self._since: dict[Connection, float] = {}
        """Since when each of the others waits."""
        self._answered: set[Connection] = set()
        self._closing: dict[Connection, asyncio.Transport | None] = {}

    def middleware(self) -> Middleware:
        """Tells for how long a request is answered."""

        @web.middleware
        async def watched(request: web.Request, handler: Handler) -> web.StreamResponse:
            self.begins(request.protocol)
            try:
                return await handler(request)
            finally:
                self.ends(request.protocol)

        return watched

    def begins(self, connection: Connection) -> None:
        """The head of a request is complete."""
        self._busy.add(connection)

    def ends(self, connection: Connection) -> None:
        """Its answer is."""
        self._busy.discard(connection)
        self._answered.add(connection)
        self._since[connection] = self._now()

    def look(self, open_: Sequence[Connection]) -> int:
        """Close what is over its time, of all connections that are open; returns how many those were."""
        now = self._now()
        self._since = {each: self._since.get(each, now) for each in open_ if each not in self._busy}
        self._answered &= self._since.keys()
        late = [each for each, since in self._since.items() if now - since > self._time(each)]
        self._closing = {each: transport for each, transport in self._closing.items() if each in self._since}
        for connection in late:
            self._close(connection)
        return len(late)

    def _close(self, connection: Connection) -> None:
        """In order, and at the next look without: who takes nothing never takes what a close waits for."""
        if connection not in self._closing:
            self._closing[connection] = connection.transport
            connection.force_close()
        elif (transport := self._closing[connection]) is not None:
            transport.abort()

    def _time(self, connection: Connection) -> float:
        return KEEP_S if connection in self._answered else HEAD_S

    async def run(self, server: web.Server) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.look(server.connections)
