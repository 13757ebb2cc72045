"""A proxy that cuts connections at random bytes, and clients that come back to it with the id of their last event."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal, TypeAlias

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from tests.support.gateway_clients import answer, blocks, events_path
from tests.support.resets import reset_when_closed
from tests.support.sse import Lines

Form: TypeAlias = Literal["sse", "lines", "websocket"]

FORMS: Sequence[Form] = ("sse", "lines", "websocket")

BACK_S = 0.02
"""A client comes back at once: what is tried is the gateway, not patience."""


class Cutter:
    """Forwards to one of the ports that `ports` names, until it cuts. `cuts` counts how often that was."""

    def __init__(self, ports: Callable[[], Sequence[int]], dice: random.Random, mean_bytes: int = 6_000) -> None:
        self._ports = ports
        self._dice = dice
        self._mean = mean_bytes
        self.calm = False
        """Nothing is cut any more."""
        self.cuts = 0
        self.port = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Cutter"]:
        server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            there, to = await asyncio.open_connection("127.0.0.1", self._dice.choice(self._ports()))
            asking = asyncio.create_task(self._ask(reader, to))
            try:
                await self._answer(there, writer)
            finally:
                asking.cancel()
                to.close()
        writer.close()

    @staticmethod
    async def _ask(reader: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                to.write(data)
                await to.drain()
            to.close()

    async def _answer(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = int(self._dice.expovariate(1 / self._mean))
        while data := await there.read(65_536):
            if not self.calm and len(data) > left:
                writer.write(data[:left])
                self._cut(writer)
                return
            left -= len(data)
            writer.write(data)
            await writer.drain()

    def _cut(self, writer: asyncio.StreamWriter) -> None:
        self.cuts += 1
        if self._dice.random() < 0.5:
            reset_when_closed(writer.get_extra_info("socket"))
            writer.transport.abort()


class Follower:
    """One client of one conversation. `got` is what it was sent, cut or not."""

    def __init__(self, port: int, conversation: str, dialect: str, form: Form) -> None:
        self.conversation = conversation
        self.dialect = dialect
        self.form = form
        self.got: list[str] = []
        self.wrong: list[str] = []
        """What it was told that should not have been."""
        self.comings = 0
        self._port = port
        self._last = ""

    def __str__(self) -> str:
        return f"{self.conversation} in {self.dialect} over {self.form}, which came {self.comings} times"

    async def follow(self) -> None:
        """For ever."""
        while True:
            self.comings += 1
            with contextlib.suppress(OSError, WebSocketException, EOFError, TimeoutError):
                await (self._over_websocket() if self.form == "websocket" else self._over_http())
            await asyncio.sleep(BACK_S)

    def _query(self) -> dict[str, str]:
        place = {"last_event_id": self._last} if self._last else {"from_": "start"}
        return {"dialect": self.dialect, **place}

    def _take(self, identity: str, event: str, data: str) -> None:
        self._last = identity or self._last
        if data and (event == "gap" or (self.form != "sse" and event not in ("message", "retry"))):
            self.wrong.append(f"{event}: {data}")
        elif data and event != "retry":
            self.got.append(data)

    async def _over_http(self) -> None:
        """An EventSource that comes back would not survive a 503, which others may get while Kafka has no leader."""
        headers = {"accept": "application/x-ndjson" if self.form == "lines" else "text/event-stream"}
        if returns := self.form == "sse" and bool(self._last):
            headers["last-event-id"] = self._last
        async with answer(self._port, events_path(self.conversation, **self._query()), headers, patience=None) as found:
            if found.status != 200:
                if found.status != 503 or returns:
                    self.wrong.append(f"{found.status}: {await found.body()!r}")
                return
            async for block in blocks(found, moved=self._moved):
                self._take(block.id, block.event, block.data)

    def _moved(self, identity: str) -> None:
        self._last = identity or self._last

    async def _over_websocket(self) -> None:
        path = events_path(self.conversation, **self._query()).replace("/events?", "/ws?")
        reader = Lines()
        async with connect(
            f"ws://127.0.0.1:{self._port}{path}", max_size=None, ping_interval=None, close_timeout=1, compression=None
        ) as websocket:
            async for message in websocket:
                text = message if isinstance(message, bytes) else message.encode()
                for block in reader.feed(text + b"\n"):
                    self._take(block.id, block.event, block.data)
                self._moved(reader.last_id)
