"""One body of chunks on its way into the log: read as it comes, and never faster than Kafka takes it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from typing import TypeAlias

from tokenmill.errors import RecordError, TokenmillError
from tokenmill.gateway.http.request_body import LINE_S, BrokenOff, RequestBody
from tokenmill.gateway.ingest.bodies import Accepted
from tokenmill.gateway.ingest.native_chunks import NativeChunks, Valued
from tokenmill.gateway.ingest.pipelined_writer import PipelinedWriter
from tokenmill.gateway.ingest.raw_stream import Cut, RawStream
from tokenmill.gateway.problems import BAD_REQUEST, TOO_LARGE, Refused
from tokenmill.limits import KIB

log = logging.getLogger(__name__)

PIECE_BYTES = 256 * KIB
"""Bytes of a stream in one record: as much as one of its events may have, and far below what a topic takes."""

SMALL_BYTES = 4 * KIB

PACE_S = 0.01
"""Seconds between small pieces of a stream: bytes that come in between share a record. With each record, all of its
event so far is read again, here and in the worker, so a client that sends single bytes would cost both a lot."""

DETAIL_CHARS = 1_000
"""Characters of the longest description of a chunk's errors: there may be ten thousand of them."""

Numbered: TypeAlias = tuple[int, bytes]
"""Number and bytes of a line; the number is 0 for other data."""


class LineTooLong(TokenmillError):
    """A line is longer than the cap."""


class LineSplitter:
    """Splits the bytes of one body, which come in arbitrary pieces, into lines; each byte is scanned once.

    Lines end with LF or CRLF; the last one need not end.
    """

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._pieces: list[bytes] = []
        self._size = 0
        self.number = 0
        """Number of the last line that was yielded, from 1; blank ones count."""

    @property
    def unfinished(self) -> bool:
        """Whether a line has begun and not ended."""
        return self._size > 0

    def feed(self, more: bytes) -> Iterator[bytes]:
        """Yield the lines that more bytes complete, without line ends and blank lines. Raises `LineTooLong`."""
        *whole, rest = more.split(b"\n")
        for part in whole:
            if line := self._ended(part):
                yield line
        self._keep(rest)

    def last(self) -> bytes:
        """Return the bytes after the last line end; empty if there are none."""
        return self._ended(b"") if self.unfinished else b""

    def _ended(self, part: bytes) -> bytes:
        self._keep(part)
        self.number += 1
        line = b"".join(self._pieces)
        self._pieces, self._size = [], 0
        return line.removesuffix(b"\r").strip(b" \t")

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._cap:
            raise LineTooLong(f"line {self.number + 1} is longer than {self._cap} bytes")
        if part:
            self._pieces.append(part)


class ChunkPost:
    """Writes the body of one request into the log, record by record.

    Args:
        body: the request's body.
        writer: writes its records; it has written nothing yet.
        cap: the longest record and the longest line, in bytes.
    """

    def __init__(self, body: RequestBody, writer: PipelinedWriter, cap: int) -> None:
        self._body = body
        self._writer = writer
        self._cap = cap

    async def native(self, chunks: NativeChunks, cut: Cut, seq: int | None) -> Accepted:
        """Write native chunks: one, or one a line; `seq` is that of a single chunk.

        If the client or this server goes away, messages that no writer can continue are ended: chunks without numbers
        would be doubled if they were repeated. Other problems are reported to the client, with the number of records
        accepted before. Raises `Refused` and `BrokenOff`.
        """
        try:
            await self._put_all(lambda line: chunks.record(line, seq), cut)
            return await self._accepted(chunks.message_id)
        except BrokenOff as lost:
            await self._writer.settled()
            await self._end(chunks.broken_off(lost.why))
            raise
        except Refused as refusal:
            await self._count(refusal)
            raise

    async def raw(self, stream: RawStream, cut: Cut) -> Accepted:
        """Write a provider's stream, and a record that ends it.

        If it does not reach its end, its message fails: no writer can continue in the middle of a stream. Raises
        `Refused` and `BrokenOff`.
        """
        try:
            await self._put_all(stream.record, cut)
            await self._writer.acknowledged()
            if self._writer.put_any:
                await self._writer.put(*stream.end())
            return await self._accepted(stream.message_id)
        except BrokenOff as lost:
            await self._break_off(stream, lost.why)
            raise
        except Refused as refusal:
            await self._count(refusal)
            if self._writer.put_any:
                await self._break_off(stream, f"the stream broke off: {refusal.kind.title}")
            raise

    # Reading

    async def _put_all(self, record: Callable[[bytes], Awaitable[Valued]], cut: Cut) -> None:
        values = {Cut.WHOLE: self._whole, Cut.LINES: self._lines, Cut.ANYWHERE: self._pieces}[cut]
        async with aclosing(values()) as numbered:
            async for number, value in numbered:
                with _refusing(number):
                    made = await record(value)
                await self._writer.put(*made)

    async def _whole(self) -> AsyncGenerator[Numbered]:
        whole = await self._body.whole(self._cap)
        if whole.strip():
            yield 0, whole

    async def _pieces(self) -> AsyncGenerator[Numbered]:
        size, clock = min(self._cap, PIECE_BYTES), asyncio.get_running_loop().time
        while piece := await self._body.piece():
            came = clock()
            for start in range(0, len(piece), size):
                yield 0, piece[start : start + size]
            if len(piece) < SMALL_BYTES:
                await asyncio.sleep(max(0.0, came + PACE_S - clock()))

    async def _lines(self) -> AsyncGenerator[Numbered]:
        lines, clock = LineSplitter(self._cap), asyncio.get_running_loop().time
        number, due = 0, 0.0
        while piece := await self._body.piece(max(0.0, due - clock()) if lines.unfinished else None):
            went_on = lines.unfinished
            with _refusing_long():
                for line in lines.feed(piece):
                    yield lines.number, line
            if not went_on or lines.number >= number:  # the unfinished line has just begun
                number, due = lines.number + 1, clock() + LINE_S
        if line := lines.last():
            yield lines.number, line

    # Writing

    async def _accepted(self, message_id: str | None) -> Accepted:
        await self._writer.acknowledged()
        last = self._writer.last
        if last is None:
            raise Refused(BAD_REQUEST, "the body has no chunk; send at least one")
        return Accepted(self._writer.accepted, message_id, last.partition, last.offset)

    async def _count(self, refusal: Refused) -> None:
        """Add the number of records that are in the log nevertheless to a refusal."""
        await self._writer.settled()
        refusal.members["accepted"] = self._writer.accepted

    async def _break_off(self, stream: RawStream, why: str) -> None:
        await self._writer.settled()
        last = self._writer.last
        await self._end(stream.broken_off(why, last.offset if last and not self._writer.failed else None))

    async def _end(self, records: Iterable[Valued]) -> None:
        """Send records without waiting for them."""
        try:
            for record in records:
                await self._writer.put(*record)
        except Refused as refusal:
            log.warning(
                "the end of a message that broke off was not written, so it ends only by its idle timeout: %s",
                refusal.detail,
            )


@contextmanager
def _refusing(number: int) -> Iterator[None]:
    """Turn the error of a chunk into a refusal that names its line."""
    try:
        yield
    except RecordError as problem:
        detail = str(problem)[:DETAIL_CHARS]
        if number:
            raise Refused(BAD_REQUEST, f"line {number}: {detail}", line=number) from problem
        raise Refused(BAD_REQUEST, detail) from problem


@contextmanager
def _refusing_long() -> Iterator[None]:
    try:
        yield
    except LineTooLong as problem:
        raise Refused(TOO_LARGE, f"{problem} (gateway.body_kib)") from problem
