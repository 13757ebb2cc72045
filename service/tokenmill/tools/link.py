"""One server as a runner has it: connected again when it is gone, and used by many calls at once.

1. One task opens and closes a connection; calls use it from other tasks.
2. A server that does not come, or dies, is tried again with growing pauses. Calls wait for it for `tools.connect_s`;
   when a try has failed, only until so long after it was lost: they have places that calls of others need. Those that
   were not sent say so.
3. What it offers is read again when it says that this has changed, and now and then. One that does not answer then is
   gone. Who is at work may not answer; but that is no excuse where a call has had no answer in its time, and no other.
4. A connection that broke takes no new calls. It is closed when those on it are over; a server that is reached by HTTP
   has the next one meanwhile, a program is started again behind it. So is that of a program that ends while nobody
   calls, at once.
5. A call that a server refused because it has forgotten our session was not made. It is made on the next connection, in
   the time that is left of it.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from mcp import Client

from tokenmill.config import Tools
from tokenmill.errors import ConfigError, Unavailable
from tokenmill.tools.call import Call
from tokenmill.tools.calling import CallOptions, called
from tokenmill.tools.catalogue import Catalogue, Tool, server_of
from tokenmill.tools.connection import connected, hear_changes, offered, told
from tokenmill.tools.outcome import Outcome, Progress, checked
from tokenmill.tools.server_file import Remote, Server

log = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 30.0

LOOK_AGAIN_S = 30.0
"""A server that nobody calls is asked for its tools so often: to know whether it lives, and what it offers now."""

CHANGES_S = 0.5
"""Between two looks at a list, however often it changes."""

STEADY_S = 30.0
"""A connection that held for so long was a good one: the next pause is short again."""


TRIES = 2
"""Of a call that was not made. A server that forgets a session as soon as it is used would be tried for ever."""


class _Held:
    """A connection in use."""

    client: Client
    catalogue: Catalogue
    """Both are there when it is in use. That it broke can be known before."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        """The server offers other tools, or the connection is not used any more."""
        self.left = asyncio.Event()
        """The next connection may be made."""
        self.calls = 0
        self.heard = 0
        """How much has come from the server."""
        self.silent = False
        """Nothing has, for as long as a call may take."""
        self.connected = False
        self.broken = False

    def hear(self) -> None:
        """Note that something has come from the server."""
        self.heard += 1
        self.silent = False

    def hearing(self, progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
        """The same, which counts as hearing from the server."""

        def heard(step: Progress) -> None:
            self.hear()
            progress(step)

        return heard

    def over(self) -> bool:
        """Whether it takes no calls, and has none."""
        return self.broken and not self.calls

    def look(self) -> None:
        if self.over():
            self.news.set()


class Link:
    """A server, connected as long as `run` runs."""

    def __init__(self, server: Server, settings: Tools) -> None:
        self._server = server
        self._settings = settings
        self._held: asyncio.Future[_Held] = asyncio.get_running_loop().create_future()
        self._problem = "it was not reached yet"
        self._gone_at = time.monotonic()
        """Since when there is no connection, if there is none."""
        self._failed = False
        """A try has failed since."""
        self._connections = set[asyncio.Task[None]]()

    @property
    def up(self) -> bool:
        """Whether it is connected."""
        return self._held.done()

    @property
    def calls(self) -> int | None:
        """How many run at once, where the server has a number of its own."""
        return self._server.calls

    async def run(self) -> None:
        """Stay connected until cancelled."""
        pause = FIRST_PAUSE_S
        try:
            while True:
                began, held = time.monotonic(), _Held()
                connection = asyncio.create_task(self._connection(held, pause))
                self._connections.add(connection)
                connection.add_done_callback(self._connections.discard)
                await held.left.wait()
                if time.monotonic() - began > STEADY_S:
                    pause = FIRST_PAUSE_S
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
        finally:
            connections = list(self._connections)
            for connection in connections:
                connection.cancel()
            await asyncio.gather(*connections, return_exceptions=True)

    async def _connection(self, held: _Held, pause: float) -> None:
        """One of them, from its beginning to its end, whatever that is."""
        try:
            await self._connect(held)
        except (Unavailable, ConfigError) as problem:
            self._leave(held, str(problem))
            log.warning("%s; next try in %g s", problem, pause)
        except Exception as problem:  # noqa: BLE001 -- the SDK raises whatever broke while it closes
            log.info("%s: closed: %s", self._server, told(problem))
        finally:
            self._leave(held)
            held.left.set()

    async def _connect(self, held: _Held) -> None:
        def ended() -> None:
            self._leave(held, f"{self._server}: ended by itself")

        async with connected(self._server, self._settings.connect_s, held.news.set, ended) as client:
            held.client = client
            await self._read_catalogue(held)
            held.connected = True
            if not held.broken:
                self._held.set_result(held)
                self._failed = False
            hearing = asyncio.create_task(hear_changes(client, held.news.set))
            try:
                await self._kept(held)
            finally:
                self._leave(held)
                hearing.cancel()
                await asyncio.gather(hearing, return_exceptions=True)

    async def _kept(self, held: _Held) -> None:
        """Keep up with what it offers, as long as it is used."""
        while not held.over():
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await held.news.wait()
            told_so = held.news.is_set()
            held.news.clear()
            if not held.broken and (told_so or not held.calls):  # who is at work may not answer
                await self._look_again(held)
                await asyncio.sleep(CHANGES_S)

    async def _look_again(self, held: _Held) -> None:
        """A server that says at work that its list has changed may not be able to show it: its calls go on."""
        try:
            await self._read_catalogue(held)
            held.hear()
        except (Unavailable, ConfigError) as problem:
            if not held.calls:
                raise
            if held.silent:
                log.warning("%s; it gets no more calls, and is connected again", problem)
                self._leave(held, str(problem))
            held.news.set()

    async def _read_catalogue(self, held: _Held) -> None:
        """Read what a server offers. If it can't be read while nobody calls, the connection is left."""
        try:
            held.catalogue = Catalogue(await offered(held.client, self._server.name))
        except (Unavailable, ConfigError) as problem:
            if not held.calls:
                self._leave(held, str(problem))  # the end of the session may take a while
            raise

    def _leave(self, held: _Held, problem: str = "") -> None:
        """New calls wait for the next connection. The first who knows why says so."""
        if not held.broken:
            self._problem = problem or self._problem
            self._failed = self._failed or not held.connected
        held.broken = True
        if isinstance(self._server, Remote):  # of a program there is only one
            held.left.set()
        held.look()
        if self._held.done() and self._held.result() is held:
            self._held = asyncio.get_running_loop().create_future()
            self._gone_at = time.monotonic()

    async def look(self, call: Call) -> str | Outcome:
        """The fingerprint of the tool that would be called, or why it can't be."""
        found = await self._found(call)
        return found if isinstance(found, Outcome) else found[1].fingerprint

    async def make(
        self, call: Call, fingerprint: str = "", progress: Callable[[Progress], None] | None = None
    ) -> Outcome:
        """Make a call, once, and say what came of it. With a fingerprint the tool has to be the one that it is of."""
        left_s = float(self._server.call_s or self._settings.call_s)
        for _ in range(TRIES):
            found = await self._found(call)
            if isinstance(found, Outcome):
                return found
            held, tool = found
            heard = progress and held.hearing(progress)
            if fingerprint and fingerprint != tool.fingerprint:
                return Outcome(error="the tool is another one than the call was approved for", code="denied")
            outcome = await self._sent(held, tool, call, CallOptions(left_s, call.repeat_key, heard, call.tracing))
            if outcome.code != "unavailable":
                return outcome
            left_s -= outcome.elapsed_ms / 1000
        return self._not_made()

    async def _sent(self, held: _Held, tool: Tool, call: Call, options: CallOptions) -> Outcome:
        """What came of a call on a connection, which is left where that is the end of it."""
        held.calls += 1
        before = held.heard
        try:
            outcome = await called(held.client, tool, call.arguments, options)
        finally:
            held.calls -= 1
            held.look()
        if outcome.code in {"transport", "unavailable"}:
            self._leave(held, str(outcome.error))
        elif outcome.code != "timeout":
            held.hear()
        elif held.heard == before:
            held.silent = True
            held.news.set()
        return outcome

    def _not_made(self) -> Outcome:
        return Outcome(error=f"the call was not made: {self._problem}", code="unavailable")

    async def _found(self, call: Call) -> tuple[_Held, Tool] | Outcome:
        """A connection and the tool, once there is one, or why the call can't be made."""
        began = self._gone_at if self._failed else time.monotonic()
        try:
            async with asyncio.timeout(max(0, began + self._settings.connect_s - time.monotonic())):
                held = await asyncio.shield(self._held)
        except TimeoutError:
            return self._not_made()
        tool = checked(held.catalogue, call.name, call.arguments)
        return tool if isinstance(tool, Outcome) else (held, tool)


class Links:
    """All servers: finds the one of a call."""

    def __init__(self, links: Iterable[tuple[str, Link]]) -> None:
        self._links = dict(links)

    def __iter__(self) -> Iterator[tuple[str, Link]]:
        return iter(self._links.items())

    async def look(self, call: Call) -> str | Outcome:
        """Look at a call as the `Link` to its server does."""
        link = self._links.get(server_of(call.name))
        return _unknown(call) if link is None else await link.look(call)

    async def make(self, call: Call, fingerprint: str, progress: Callable[[Progress], None]) -> Outcome:
        """Make a call as the `Link` to its server does."""
        link = self._links.get(server_of(call.name))
        return _unknown(call) if link is None else await link.make(call, fingerprint, progress)


def _unknown(call: Call) -> Outcome:
    return Outcome(error=f"there is no tool {call.name!r}", code="unknown-tool")
