"""One call of a model server, from the bytes that it answers to chunks.

1. The server's own protocol is read by a codec; its chunks get our names and numbers elsewhere.
2. An answer is whole when every choice has said why it ended. Counts may follow, and are waited for a moment. One that
   ends otherwise, or for a failure, failed: nobody may take half an answer for all of it.
3. What failed before anything came may be tried again, so it is raised. After the first token nothing is tried again.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from http import HTTPStatus
from typing import Protocol

import msgspec
from msgspec import UNSET

from tokenmill.caller.failure import AGAIN, UpstreamFailed, refusal
from tokenmill.caller.pace import joined
from tokenmill.codecs import Chunk, find_codec
from tokenmill.codecs.sse_stream import UNREADABLE
from tokenmill.errors import RecordError
from tokenmill.events import FinishReason
from tokenmill.finish_reasons import finish_reason
from tokenmill.partition.identity import choice_index, has_content
from tokenmill.records import InputRecord

USAGE_S = 2.0
"""Seconds for counts after the last finish reason: they come in the next event, or not at all. Anything else that comes
or fails then changes nothing."""

BROKEN_OFF = "the model's server ended its answer before it was complete"

HALF: frozenset[FinishReason] = frozenset({"error", "cancelled", "timeout"})
"""Reasons of an answer that its server broke off, although no one had it stop."""


class Taker(Protocol):
    """Takes the chunks of an answer."""

    @property
    def pause_s(self) -> float:
        """Seconds that further bytes may be left in the socket."""

    async def put(self, chunk: Chunk) -> None:
        """Take the next chunk."""


class Generation:
    """Reads one answer.

    Args:
        codec: of the server.
        choices: how many alternatives were asked for.
        begins: what the text begins with that does not come, as the prompt had it.
        taker: of the chunks.
        usage_s: how long counts are waited for.
        tell: what is called once, when something has come.
    """

    def __init__(
        self,
        codec: str,
        choices: int,
        begins: str,
        taker: Taker,
        usage_s: float = USAGE_S,
        tell: Callable[[], None] = lambda: None,
    ) -> None:
        self._codec = find_codec(codec)
        self._taker = taker
        self._begins = begins
        self._open = set(range(choices))
        """Choices that have not ended."""
        self._reasoned = set[int]()
        """Those that have said why they end."""
        self._said = set[int]()
        """Those of which something has come."""
        self._usage_s = usage_s
        self._tell = tell
        self._until: float | None = None
        """For how long counts are waited for, once they are all that is missing."""
        self._state = b""
        self.begun = False
        """Something has come."""
        self.whole = False
        """All of it has been taken."""

    async def read(self, pieces: AsyncGenerator[bytes]) -> None:
        """Read to the end. Raises `UpstreamFailed`; nothing may be tried again once it has `begun`."""
        while self._open:
            piece = await self._next(pieces)
            await self._take(joined(self._decoded(piece)), last=piece is None)  # a line need not end then
            if piece is None:
                break
            if self.begun and self._missing and (pause := self._taker.pause_s):
                await asyncio.sleep(pause)
        if self._missing:
            raise UpstreamFailed(BROKEN_OFF, "broken-off")
        for choice in sorted(self._open):
            await self._put(Chunk(choice=choice, end=True))
        self.whole = True

    @property
    def _missing(self) -> bool:
        """Whether a choice has not said why it ends."""
        return bool(self._open - self._reasoned)

    async def _next(self, pieces: AsyncGenerator[bytes]) -> bytes | None:
        """The next bytes; None at the end, or when only counts are missing and do not come."""
        if self._missing:
            return await anext(pieces, None)
        clock = asyncio.get_running_loop().time
        if self._until is None:
            self._until = clock() + self._usage_s
        try:
            async with asyncio.timeout_at(self._until):
                return await anext(pieces, None)
        except (TimeoutError, UpstreamFailed):
            return None

    def _decoded(self, piece: bytes | None) -> Sequence[Chunk]:
        try:
            self._state, chunks = self._codec.decode(self._state, InputRecord("", 0, 0, 0, b"answer", piece))
        except RecordError as problem:
            message = "the model's server wrote what can't be read"
            raise UpstreamFailed(f"{message}: {problem}", "unreadable", logged=message) from problem
        return chunks

    async def _take(self, chunks: Sequence[Chunk], *, last: bool) -> None:
        for chunk in chunks:
            choice = choice_index(chunk)
            if chunk.error is not None and self._missing:  # whichever choice it names, no other will be whole
                if last and chunk.error.startswith(UNREADABLE):  # it is half of one
                    break
                status = chunk.error_status or HTTPStatus.BAD_GATEWAY
                raise refusal(status, chunk.error, chunk.error_raw or "", again=status in AGAIN)
            if choice not in self._open or chunk.error is not None:
                continue  # behind its end, or one that nobody asked for
            if choice not in self._reasoned and _breaks_off(chunk):
                if self.begun and has_content(chunk):
                    await self._put(msgspec.structs.replace(chunk, finish_reason=None, end=UNSET))
                raise UpstreamFailed(BROKEN_OFF, "broken-off")
            if chunk.finish_reason is not None:
                self._reasoned.add(choice)
            await self._put(chunk)

    async def _put(self, chunk: Chunk) -> None:
        choice, ends = choice_index(chunk), chunk.end is True
        if has_content(chunk) and choice not in self._said:
            self._said.add(choice)
            if self._begins:
                await self._taker.put(Chunk(choice=choice, delta=self._begins))
        if ends:
            self._open.discard(choice)
        if has_content(chunk) or chunk.usage or chunk.finish_reason is not None or ends:
            self._begin()
            if chunk.control is not None or chunk.end is not UNSET or chunk.finish_reason is not None:
                # A native chunk with a reason ends its message unless it says that it does not.
                stays = False if chunk.finish_reason is not None else UNSET
                chunk = msgspec.structs.replace(chunk, control=None, end=ends or stays)
            await self._taker.put(chunk)

    def _begin(self) -> None:
        if not self.begun:
            self.begun = True
            self._tell()


def _breaks_off(chunk: Chunk) -> bool:
    """Whether a choice that has not said why it ends is over with it, and not whole."""
    if chunk.finish_reason is None:
        return chunk.end is True
    return finish_reason(chunk.finish_reason, called=False) in HALF
