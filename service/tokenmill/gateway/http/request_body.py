"""Reads the body of a request as it comes: in pieces or whole, and never for longer than it should take.

1. Nothing is read ahead: unrequested bytes stay in the socket, so a slow reader slows its client down.
2. Each wait has a deadline. A body may be silent for as long as a message may be; a body that is read whole, and a line
   that has begun, have less time.
3. A lost connection does not count as the end of the body, which is incomplete. Neither does the end of the server,
   whose client is still there. A client that closes only its sending half counts as gone: the two look alike, and each
   would otherwise be written to until a heartbeat fails.
4. A body may last longer than the rights with which it began. They are checked with each piece.
"""

import asyncio
from typing import TypeVar

import msgspec
from aiohttp import web

from tokenmill.errors import NOT_JSON
from tokenmill.gateway.auth.grant import Held, always, must_hold
from tokenmill.gateway.problems import BAD_REQUEST, STOPPING, TIMED_OUT, TOO_LARGE, UNSUPPORTED, Refused

WHOLE_S = 30.0
"""Seconds for a body that is read whole: a megabyte in that time is 35 kB/s, and a phone on a train has more."""

LINE_S = 30.0
"""Seconds for a line, from its first byte to its last: a client has the line before it sends it."""

AGAIN_S = "2"
"""Seconds after which a client tries again: by then a proxy no longer sends it here."""

T = TypeVar("T")


class BrokenOff(Exception):
    """The client went away before the end of its body."""

    why = "the stream broke off: its writer disconnected"
    """Error text of a message that is ended because of it."""


class Stopping(BrokenOff):
    """The server closes before the end of a body; its client is still there, and may turn to another server."""

    why = "the stream broke off: its gateway was stopped"


class RequestBody:
    """Reads the body of a request.

    Raises `Refused` where it is too long, too slow, not readable or not allowed, and `BrokenOff`.
    """

    def __init__(self, request: web.Request, idle_s: float, held: Held = always) -> None:
        coding = request.headers.get("content-encoding", "identity")
        if coding.lower() != "identity":
            raise Refused(UNSUPPORTED, "compressed bodies are not read; send it without content-encoding")
        self._request = request
        self._idle_s = idle_s
        self._held = held

    async def piece(self, within: float | None = None) -> bytes:
        """Return what has come since the last piece, as soon as anything has; empty at the end of the body.

        `within`: seconds to wait, instead of as long as a message may be silent.
        """
        patience = self._idle_s if within is None else min(within, self._idle_s)
        piece = await self._read(patience)
        must_hold(self._held)
        return piece

    async def _read(self, patience: float) -> bytes:
        try:
            async with asyncio.timeout(patience):
                return await self._request.content.readany()
        except TimeoutError as late:
            raise Refused(TIMED_OUT, f"no bytes came for {patience:.3g} s; send them sooner, or end the body") from late
        except ConnectionError as lost:
            raise BrokenOff from lost
        except asyncio.CancelledError as end:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            raise Stopping from end  # the server is closing: its client gets an answer
        except web.RequestPayloadError as problem:
            raise Refused(
                BAD_REQUEST, "the framing of the body (chunks, content-length) is wrong; fix the client"
            ) from problem

    async def whole(self, cap: int, within: float | None = None) -> bytes:
        """Return the whole body: at most `cap` bytes, within this many seconds, by default `WHOLE_S`."""
        if (self._request.content_length or 0) > cap:
            raise _too_large(cap)
        pieces, size = [], 0
        due = asyncio.get_running_loop().time() + (WHOLE_S if within is None else within)
        while piece := await self.piece(due - asyncio.get_running_loop().time()):
            pieces.append(piece)
            size += len(piece)
            if size > cap:
                raise _too_large(cap)
        return b"".join(pieces)


async def whole_body(request: web.Request, within: float | None = None) -> bytes:
    """Return the whole body, for a handler that does nothing before. Raises `Refused`."""
    seconds = WHOLE_S if within is None else within
    try:
        return await RequestBody(request, seconds).whole(request.client_max_size, seconds)
    except BrokenOff as lost:
        raise broken_off(lost) from lost


def decoded(body: bytes, kind: type[T], wrong: str) -> T:
    """Decode a body as JSON. Raises `Refused`: what is `wrong`, and where."""
    try:
        return msgspec.json.decode(body, type=kind)
    except NOT_JSON as problem:
        raise Refused(BAD_REQUEST, f"{wrong}: {problem}") from problem


def stopping(detail: str) -> Refused:
    """Return the refusal for a client that has to turn to another gateway."""
    return Refused(STOPPING, detail, headers={"retry-after": AGAIN_S})


def broken_off(lost: BrokenOff | None = None) -> Refused:
    """Return the refusal for a body whose end did not come. Only if the server stops is the client there to read it."""
    if isinstance(lost, Stopping):
        return stopping("this gateway is shutting down, and the body had not ended; send it through another one")
    return Refused(BAD_REQUEST, "the connection was lost before the end of the body; send it again")


def _too_large(cap: int) -> Refused:
    return Refused(TOO_LARGE, f"the body may have at most {cap} bytes (gateway.body_kib)")
