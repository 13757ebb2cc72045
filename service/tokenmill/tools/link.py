"""One server as a runner has it: connected again when it is gone, and used by many calls at once.

1. One task opens and closes a connection; calls use it from other tasks.
2. A server that does not come, or dies, is tried again with growing pauses. Calls wait for it for a while; those that
   were not sent say so.
3. A connection that broke takes no new calls. It is closed when those on it are over.
"""

import asyncio
import logging
import time

from mcp import Client

from tokenmill.config import Tools
from tokenmill.errors import ConfigError, Unavailable
from tokenmill.tools.call import Call
from tokenmill.tools.calling import called
from tokenmill.tools.catalogue import Catalogue
from tokenmill.tools.connection import connected, offered, told
from tokenmill.tools.outcome import Outcome, checked
from tokenmill.tools.server_file import Server

log = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 30.0

STEADY_S = 30.0
"""A connection that held for so long was a good one: the next pause is short again."""


class _Held:
    """A connection in use."""

    def __init__(self, client: Client, catalogue: Catalogue) -> None:
        self.client = client
        self.catalogue = catalogue
        self.calls = 0
        self.broken = False
        self.over = asyncio.Event()

    def look(self) -> None:
        if self.broken and not self.calls:
            self.over.set()


class Link:
    """A server, connected as long as `run` runs."""

    def __init__(self, server: Server, settings: Tools) -> None:
        self._server = server
        self._settings = settings
        self._held: asyncio.Future[_Held] = asyncio.get_running_loop().create_future()
        self._problem = "it was not reached yet"

    @property
    def up(self) -> bool:
        """Whether it is connected."""
        return self._held.done()

    async def run(self) -> None:
        """Until cancelled."""
        pause = FIRST_PAUSE_S
        while True:
            began = time.monotonic()
            try:
                await self._connect()
            except (Unavailable, ConfigError) as problem:
                self._problem = str(problem)
                log.warning("%s; next try in %g s", problem, pause)
            except Exception as problem:  # noqa: BLE001 -- the SDK raises whatever broke while it closes
                log.info("%s: closed: %s", self._server, told(problem))
            if time.monotonic() - began > STEADY_S:
                pause = FIRST_PAUSE_S
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _connect(self) -> None:
        async with connected(self._server, self._settings.connect_s) as client:
            held = _Held(client, Catalogue(await offered(client, self._server.name)))
            self._held.set_result(held)
            try:
                await held.over.wait()
            finally:
                self._leave(held)

    def _leave(self, held: _Held) -> None:
        """New calls wait for the next connection."""
        held.broken = True
        if self._held.done() and self._held.result() is held:
            self._held = asyncio.get_running_loop().create_future()

    async def called(self, call: Call) -> Outcome:
        """Make a call, once, and say what came of it."""
        try:
            async with asyncio.timeout(self._settings.connect_s):
                held = await asyncio.shield(self._held)
        except TimeoutError:
            return Outcome(error=f"the call was not made: {self._problem}", code="unavailable")
        tool = checked(held.catalogue, call.name, call.arguments)
        if isinstance(tool, Outcome):
            return tool
        held.calls += 1
        try:
            outcome = await called(held.client, tool, call.arguments, self._settings.call_s, call.repeat_key)
        finally:
            held.calls -= 1
            held.look()
        if outcome.code == "transport":
            self._problem = str(outcome.error)
            self._leave(held)
            held.look()
        return outcome
