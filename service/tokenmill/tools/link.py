"""One server of a runner: connected again when it is gone, and used by many calls at once.

1. One task opens and closes a connection; calls use it from other tasks.
2. A server that can't be reached, or dies, is tried again with growing pauses. Calls wait for it for `tools.connect_s`.
   After a failed try they wait only until that long after it was lost: they hold places that calls of other servers
   need. The outcome of a call that was not sent reports that.
3. The tools of a server are read again when it reports a change, and now and then. A server that does not answer is
   gone. A busy server may not answer, unless a call ran out of time and the server sent nothing at all meanwhile.
4. A broken connection takes no new calls. It is closed when its calls are over. A server by HTTP is connected again
   meanwhile, a program is started again afterwards. The connection of a program that ends while nobody calls is closed
   immediately.
5. A server whose connections break under calls again and again is left alone for a while, without a connection. Its
   calls are answered at once then, and one tries the next connection before the others: see `admission`.
6. A call that a server refused because it has forgotten our session was not made. It is made on the next connection, in
   the time that is left.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from mcp import Client

from tokenmill.config import Tools
from tokenmill.errors import ConfigError, Unavailable
from tokenmill.tasks import Tasks, beside
from tokenmill.tools.admission import Admission
from tokenmill.tools.call import Call
from tokenmill.tools.calling import CallOptions, called
from tokenmill.tools.catalogue import Catalogue, Tool, server_of
from tokenmill.tools.connection import connected, hear_changes, offered, told
from tokenmill.tools.outcome import Outcome, Progress, checked
from tokenmill.tools.server_file import Remote, Server

log = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 30.0

LOOK_AGAIN_S = 30.0
"""Seconds between two looks at the tools of a server that nobody calls: is it alive, and what does it offer now?"""

CHANGES_S = 0.5
"""Seconds between two looks at a list, however often it changes."""

STEADY_S = 30.0
"""Seconds after which a connection was a good one: the next pause is short again."""


TRIES = 2
"""Tries of a call that was not made: a server may forget every session as soon as it is used."""


class _Held:
    """A connection in use."""

    client: Client
    catalogue: Catalogue
    """Both are set when it is in use. It may break before."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        """Set when the server offers other tools, or the connection is no longer used."""
        self.left = asyncio.Event()
        """Set when the next connection may be made."""
        self.calls = 0
        self.heard = 0
        """Number of messages that have come from the server."""
        self.silent = False
        """Whether none has come for as long as a call may take."""
        self.connected = False
        self.broken = False
        self.failed = False
        """Whether it broke under calls."""

    def hear(self) -> None:
        """Note that something has come from the server."""
        self.heard += 1
        self.silent = False

    def hearing(self, progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
        """Return a function that passes on progress, which counts as hearing from the server."""

        def heard(step: Progress) -> None:
            self.hear()
            progress(step)

        return heard

    def over(self) -> bool:
        """Whether it takes no more calls, and none is left."""
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
        """Time since when there is no connection, if there is none."""
        self._failed = False
        """Whether a try has failed since."""
        self._admission = Admission()
        self._connections = Tasks()

    @property
    def up(self) -> bool:
        """Whether it is connected."""
        return self._held.done()

    @property
    def calls(self) -> int | None:
        """How many calls run at once, if the server has a limit of its own."""
        return self._server.calls

    async def run(self) -> None:
        """Stay connected until cancelled."""
        pause = FIRST_PAUSE_S
        try:
            while True:
                began, held = time.monotonic(), _Held()
                self._connections.begin(self._connection(held, pause), f"a connection to {self._server.name}")
                await held.left.wait()
                if time.monotonic() - began > STEADY_S:
                    pause = FIRST_PAUSE_S
                await asyncio.sleep(max(pause, self._admission.rest_s))
                pause = min(2 * pause, LONGEST_PAUSE_S)
        finally:
            await self._connections.close()

    async def _connection(self, held: _Held, pause: float) -> None:
        """Make one connection, and keep it until it ends, however that happens."""
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
            async with beside(hear_changes(client, held.news.set), f"news of {self._server.name}"):
                try:
                    await self._kept(held)
                finally:
                    self._leave(held)

    async def _kept(self, held: _Held) -> None:
        """Keep up with the server's tools while the connection is used."""
        while not held.over():
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await held.news.wait()
            told_so = held.news.is_set()
            held.news.clear()
            if not held.broken and (told_so or not held.calls):  # a busy server may not answer
                await self._look_again(held)
                await asyncio.sleep(CHANGES_S)

    async def _look_again(self, held: _Held) -> None:
        """Read the tools again. The calls of a server that is too busy to show its list continue."""
        try:
            await self._read_catalogue(held)
            held.hear()
        except (Unavailable, ConfigError) as problem:
            if not held.calls:
                raise
            if held.silent:
                log.warning("%s; it gets no more calls, and is connected again", problem)
                self._leave(held, str(problem), failed=True)
            held.news.set()

    async def _read_catalogue(self, held: _Held) -> None:
        """Read what a server offers. If it can't be read while nobody calls, the connection is left."""
        try:
            held.catalogue = Catalogue(await offered(held.client, self._server.name))
        except (Unavailable, ConfigError) as problem:
            if not held.calls:
                self._leave(held, str(problem), failed=held.silent)  # the end of the session may take a while
            raise

    def _leave(self, held: _Held, problem: str = "", *, failed: bool = False) -> None:
        """Have new calls wait for the next connection. The first problem that is given counts.

        `failed` says that it broke under calls, which is counted once.
        """
        if not held.broken:
            self._problem = problem or self._problem
            self._failed = self._failed or not held.connected
        held.broken = True
        if failed and not held.failed:
            held.failed = True
            self._fails()
        if isinstance(self._server, Remote):  # a program runs once at a time
            held.left.set()
        held.look()
        if self._held.done() and self._held.result() is held:
            self._held = asyncio.get_running_loop().create_future()
            self._gone_at = time.monotonic()

    def _fails(self) -> None:
        self._admission.fails()
        if self._admission.rest_s > 0:
            log.warning("%s: %s", self._server, self._why)

    async def look(self, call: Call) -> str | Outcome:
        """Return the fingerprint of the tool that would be called, or why it can't be called."""
        found = await self._found(call)
        return found if isinstance(found, Outcome) else found[1].fingerprint

    async def make(
        self, call: Call, fingerprint: str = "", progress: Callable[[Progress], None] | None = None
    ) -> Outcome:
        """Make a call, once, and return its outcome. The tool must have the fingerprint, if one is given."""
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
        """Make a call on a connection, which is left if it turns out to be broken."""
        held.calls += 1
        before = held.heard
        try:
            with self._admission.sent():
                outcome = await called(held.client, tool, call.arguments, options)
        finally:
            held.calls -= 1
            held.look()
        if outcome.code in {"transport", "unavailable"}:
            self._leave(held, str(outcome.error), failed=outcome.code == "transport")
        elif outcome.code != "timeout":
            held.hear()
            if not held.failed:
                self._admission.works()
        elif held.heard == before:
            held.silent = True
            held.news.set()
        return outcome

    def _not_made(self) -> Outcome:
        return Outcome(error=f"the call was not made: {self._why}", code="unavailable")

    @property
    def _why(self) -> str:
        """What is wrong with the server, and until when it gets no calls, if that is known."""
        if (rest_s := self._admission.rest_s) <= 0:
            return self._problem
        many = f"{self._admission.failures} connections in a row broke under calls"
        return f"{self._problem}; {many}, and it is left alone for {math.ceil(rest_s)} s"

    async def _found(self, call: Call) -> tuple[_Held, Tool] | Outcome:
        """Wait for a connection; return it with the tool, or why the call can't be made."""
        began = self._gone_at if self._failed else time.monotonic()
        while self._admission.rest_s <= 0:
            try:
                async with asyncio.timeout(max(0, began + self._settings.connect_s - time.monotonic())):
                    held = await asyncio.shield(self._held)
            except TimeoutError:
                break
            await self._admission.wait()
            if not held.broken:
                tool = checked(held.catalogue, call.name, call.arguments)
                return tool if isinstance(tool, Outcome) else (held, tool)
        return self._not_made()


class Links:
    """All servers; finds the one of a call."""

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
