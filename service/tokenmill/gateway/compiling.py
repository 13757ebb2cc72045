"""Options that clients bring are compiled before a chunk with them is a record, beside the loop.

Formats that live together, or tools with ten thousand parameters, take seconds, in which nobody would be served. So
it is done in a thread, for one client at a time: the others wait, and their bodies with them.
"""

import asyncio
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from tokenmill.errors import BadOpen
from tokenmill.formats import compile_grammar
from tokenmill.gateway.problems import TOO_MANY, Refused
from tokenmill.parser import read_options
from tokenmill.partition import PartitionSettings

KNOWN = 1_024
"""Options that were good are known again, by their hash: those in use are few."""

OF_A_BODY = 256
"""Options of one body that were not known. A message has one of them, and most messages of a service have the same."""

WAIT_S = 30.0
"""For those that came before."""

AGAIN_S = 10
"""When whoever waited in vain may try again."""


class Compiling:
    """That of a process. `settings` are those of the workers, whose defaults count."""

    def __init__(self, settings: PartitionSettings, wait_s: float = WAIT_S) -> None:
        self._settings = settings
        self._wait_s = wait_s
        self._turn = asyncio.Lock()
        self._known: dict[bytes, None] = {}

    def knows(self, key: bytes | None) -> bool:
        """Whether options with this key were good."""
        return key is not None and key in self._known

    async def check(self, options: Mapping[str, Any]) -> None:
        """Raise `BadOpen` for options with which no message can open, and `Refused` if there is no time for them."""
        key = key_of(options)
        if self.knows(key):
            return
        await self._compiled(options)
        if key is not None:
            self._known[key] = None
        if len(self._known) > KNOWN:
            del self._known[next(iter(self._known))]

    async def _compiled(self, options: Mapping[str, Any]) -> None:
        try:
            async with asyncio.timeout(self._wait_s):
                await self._turn.acquire()
        except TimeoutError:
            detail = f"options of others take longer than {self._wait_s:g} s to be read; try again"
            raise Refused(TOO_MANY, detail, headers={"retry-after": str(AGAIN_S)}) from None
        running = asyncio.ensure_future(asyncio.to_thread(self._compile, options))
        running.add_done_callback(self._over)
        await asyncio.shield(running)  # whoever asked may leave: the thread goes on, and so does its turn

    def _compile(self, options: Mapping[str, Any]) -> None:
        compile_grammar(self._settings.resolved(read_options(options, self._settings.defaults)), self._settings.limits)

    def _over(self, running: asyncio.Future[None]) -> None:
        self._turn.release()
        if not running.cancelled():
            running.exception()  # nobody may be left who would look at it


class BodyOptions:
    """The options that one body brings."""

    def __init__(self, compiling: Compiling) -> None:
        self._compiling = compiling
        self._new = 0

    async def check(self, options: Mapping[str, Any]) -> None:
        """Raise `BadOpen` for options with which no message can open, and for too many that differ."""
        if self._compiling.knows(key_of(options)):
            return
        self._new += 1
        if self._new > OF_A_BODY:
            raise BadOpen(f"the body has more than {OF_A_BODY} options that differ: send the rest in another one")
        await self._compiling.check(options)


def key_of(options: Mapping[str, Any]) -> bytes | None:
    """A hash of options, by which they are known again. What can't be encoded has none: to compile it says why."""
    try:
        return blake2b(msgspec.msgpack.encode(options), digest_size=16).digest()
    except (OverflowError, RecursionError, UnicodeEncodeError):
        return None
