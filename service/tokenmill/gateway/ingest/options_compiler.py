"""Compiles the options that clients bring, before a chunk with them becomes a record, in a thread.

A combination of formats, or tools with ten thousand parameters, takes seconds, in which the event loop would serve no
client. The thread compiles for one body at a time; the others wait, and the clients' names take turns.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from tokenmill.errors import BadOpen
from tokenmill.formats import compile_grammar
from tokenmill.gateway.fairness import WAIT_S, FairThread
from tokenmill.parser import read_options
from tokenmill.partition import PartitionSettings

KNOWN = 1_024
"""Good options that are remembered, by their hash: few are in use."""

OF_A_BODY = 256
"""New options that one body may bring. A message has one set, and most messages of a service have the same."""


class OptionsCompiler:
    """Compiles options that clients bring, and remembers good ones.

    `settings` are those of the workers, whose defaults apply.
    """

    def __init__(self, settings: PartitionSettings, wait_s: float = WAIT_S) -> None:
        self._settings = settings
        self._work = FairThread("the options of other requests come first; try again", wait_s)
        self._known: dict[bytes, None] = {}

    def knows(self, key: bytes | None) -> bool:
        """Whether options with this key are known to be good."""
        return key is not None and key in self._known

    async def check(self, name: str, options: Mapping[str, Any]) -> None:
        """Raise `BadOpen` for options with which no message can open, and `Refused` if there is no time to check them.

        `name` is the client's: names take turns.
        """
        key = key_of(options)
        if self.knows(key):
            return
        await self._work.run(name, lambda: self._compile(options))
        if key is not None:
            self._known[key] = None
        if len(self._known) > KNOWN:
            del self._known[next(iter(self._known))]

    def _compile(self, options: Mapping[str, Any]) -> None:
        compile_grammar(self._settings.resolved(read_options(options, self._settings.defaults)), self._settings.limits)


class BodyOptions:
    """The options that one body brings, in it or with it. `name` is the client's."""

    def __init__(self, compiler: OptionsCompiler, name: str) -> None:
        self._compiler = compiler
        self._name = name
        self._new = 0

    async def check(self, options: Mapping[str, Any]) -> None:
        """Raise `BadOpen` for options with which no message can open, and for too many different ones."""
        if self._compiler.knows(key_of(options)):
            return
        self._new += 1
        if self._new > OF_A_BODY:
            raise BadOpen(f"the body has more than {OF_A_BODY} different options; send the rest in another body")
        await self._compiler.check(self._name, options)


def key_of(options: Mapping[str, Any]) -> bytes | None:
    """Return a hash that identifies options; None for options that can't be encoded, which compiling them reports."""
    try:
        return blake2b(msgspec.msgpack.encode(options), digest_size=16).digest()
    except (OverflowError, RecursionError, UnicodeEncodeError):
        return None
