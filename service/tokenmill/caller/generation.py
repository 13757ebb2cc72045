"""One generation by a model server: turns the bytes of its response into chunks.

1. A codec reads the server's own protocol. The writer gives the chunks our ids and numbers (`writing`).
2. An answer is whole when every choice has a finish reason. Token counts may follow, and are waited for a moment. An
   answer that ends without a reason, or with one of a failure, failed: a part of an answer must not pass for all of it.
3. Failures are raised; the caller of `read` may try again only if nothing has come (`begun`).
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
"""Seconds for token counts after the last finish reason: they come in the next event, or not at all. Other content, and
failures, are ignored then."""

BROKEN_OFF = "the model's server ended its answer before it was complete"

INCOMPLETE: frozenset[FinishReason] = frozenset({"error", "cancelled", "timeout"})
"""Finish reasons of an answer that its server broke off by itself."""


class Taker(Protocol):
    """Takes the chunks of an answer."""

    @property
    def pause_s(self) -> float:
        """Seconds for which further bytes may be left in the socket."""

    async def put(self, chunk: Chunk) -> None:
        """Take the next chunk."""


class Generation:
    """Reads one answer from a server, and hands its chunks to a taker.

    Args:
        codec: name of the codec for the server's response.
        choices: number of alternative answers that were asked for.
        begins: beginning of the text, which the server does not repeat, as the prompt ends with it.
        taker: takes the chunks.
        usage_s: seconds for token counts after the last finish reason.
        on_begin: called once, as soon as anything of the answer has come.
    """

    def __init__(
        self,
        codec: str,
        choices: int,
        begins: str,
        taker: Taker,
        usage_s: float = USAGE_S,
        on_begin: Callable[[], None] = lambda: None,
    ) -> None:
        self._codec = find_codec(codec)
        self._taker = taker
        self._begins = begins
        self._open = set(range(choices))
        """Choices that have not ended."""
        self._with_reason = set[int]()
        """Choices that have a finish reason."""
        self._with_content = set[int]()
        """Choices with content."""
        self._usage_s = usage_s
        self._on_begin = on_begin
        self._until: float | None = None
        """Until when token counts are waited for, in the loop's seconds; None while a choice has no finish reason."""
        self._state = b""
        self.begun = False
        """Whether anything of the answer has come."""
        self.whole = False
        """Whether the whole answer was taken."""

    async def read(self, pieces: AsyncGenerator[bytes]) -> None:
        """Read to the end. Raises `UpstreamFailed`; another try is possible only if nothing has `begun`."""
        while self._open:
            piece = await self._next(pieces)
            await self._take(joined(self._decoded(piece)), last=piece is None)
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
        """Whether an open choice has no finish reason."""
        return bool(self._open - self._with_reason)

    async def _next(self, pieces: AsyncGenerator[bytes]) -> bytes | None:
        """Return the next bytes; None at the end, or when only token counts are missing and do not come in time."""
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
            message = "the response of the model's server can't be read"
            raise UpstreamFailed(f"{message}: {problem}", "unreadable", logged=message) from problem
        return chunks

    async def _take(self, chunks: Sequence[Chunk], *, last: bool) -> None:
        for chunk in chunks:
            choice = choice_index(chunk)
            if chunk.error is not None and self._missing:  # it fails all choices, whichever one it names
                if last and chunk.error.startswith(UNREADABLE):  # an event that was cut off: the response broke off
                    break
                status = chunk.error_status or HTTPStatus.BAD_GATEWAY
                raise refusal(status, chunk.error, chunk.error_raw or "", again=status in AGAIN)
            if choice not in self._open or chunk.error is not None:
                continue  # the choice has ended, or was not asked for
            if choice not in self._with_reason and _breaks_off(chunk):
                if self.begun and has_content(chunk):
                    await self._put(msgspec.structs.replace(chunk, finish_reason=None, end=UNSET))
                raise UpstreamFailed(BROKEN_OFF, "broken-off")
            if chunk.finish_reason is not None:
                self._with_reason.add(choice)
            await self._put(chunk)

    async def _put(self, chunk: Chunk) -> None:
        choice, ends = choice_index(chunk), chunk.end is True
        if has_content(chunk) and choice not in self._with_content:
            self._with_content.add(choice)
            if self._begins:
                await self._taker.put(Chunk(choice=choice, delta=self._begins))
        if ends:
            self._open.discard(choice)
        if has_content(chunk) or chunk.usage or chunk.finish_reason is not None or ends:
            self._begin()
            if chunk.control is not None or chunk.end is not UNSET or chunk.finish_reason is not None:
                # A native chunk with a finish reason ends its message unless its `end` is false.
                stays = False if chunk.finish_reason is not None else UNSET
                chunk = msgspec.structs.replace(chunk, control=None, end=ends or stays)
            await self._taker.put(chunk)

    def _begin(self) -> None:
        if not self.begun:
            self.begun = True
            self._on_begin()


def _breaks_off(chunk: Chunk) -> bool:
    """Whether the chunk ends a choice that is incomplete: without a finish reason, or with one of a failure."""
    if chunk.finish_reason is None:
        return chunk.end is True
    return finish_reason(chunk.finish_reason, called=False) in INCOMPLETE
