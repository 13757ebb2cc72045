"""The body of a request as it comes: in pieces or whole, and never for longer than it should take.

1. Nobody reads ahead: what is not asked for stays in the socket, so a client is slowed down by whoever reads it.
2. Each wait has a deadline. A body that is silent for as long as a message may be has nothing more to say of one; what
   is to be read whole, and a line that has begun, come at once or not at all.
3. A connection that is lost before the end of the body is told from its end: what came is not all there was. So is
   a server that closes, and its client is not said to have gone. One that closes only its sending half has: nothing
   tells the two apart, and each would else be written to until a heartbeat is refused.
4. A body may come for longer than the rights hold with which it began. Each piece is looked at for that.
"""

import asyncio

from aiohttp import web

from tokenmill.gateway.auth.grant import Held, always, unauthenticated
from tokenmill.gateway.problems import BAD_REQUEST, STOPPING, TIMED_OUT, TOO_LARGE, UNSUPPORTED, Refused

WHOLE_S = 30.0
"""For a body that is read whole: a megabyte in so long is 35 kB/s, and a phone in a train has more."""

LINE_S = 30.0
"""For a line, from its first byte to its last: who writes lines has them before they are sent."""

AGAIN_S = "2"
"""After which a client comes again: whatever is between us no longer sends it here then."""


class BrokenOff(Exception):
    """The client went away before the end of its body."""

    why = "the stream broke off: whoever wrote it went away"
    """How a message failed that is ended for it."""


class Stopping(BrokenOff):
    """The server closes before the end of a body; its client is there, and may go to another one."""

    why = "the stream broke off: the gateway that it was written to was stopped"


class RequestBody:
    """Reads the body of a request.

    Raises `Refused` where it is too long, too slow, not readable or not allowed, and `BrokenOff`.
    """

    def __init__(self, request: web.Request, idle_s: float, held: Held = always) -> None:
        coding = request.headers.get("content-encoding", "identity")
        if coding.lower() != "identity":
            raise Refused(UNSUPPORTED, "send the body without content-encoding: compressed ones are not read")
        self._request = request
        self._idle_s = idle_s
        self._held = held

    async def piece(self, within: float | None = None) -> bytes:
        """What has come since the last piece, as soon as something has; empty at the end of the body.

        `within` so many seconds, instead of as long as a message may be silent.
        """
        patience = self._idle_s if within is None else min(within, self._idle_s)
        piece = await self._read(patience)
        if not self._held():
            raise unauthenticated("the credentials of this request have ended; get new ones", "expired")
        return piece

    async def _read(self, patience: float) -> bytes:
        try:
            async with asyncio.timeout(patience):
                return await self._request.content.readany()
        except TimeoutError as late:
            raise Refused(
                TIMED_OUT, f"nothing came for {patience:.3g} s; send what there is, or end the body"
            ) from late
        except ConnectionError as lost:
            raise BrokenOff from lost
        except asyncio.CancelledError as end:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            raise Stopping from end  # the server is closing: it says so to whoever reads
        except web.RequestPayloadError as problem:
            raise Refused(BAD_REQUEST, "the framing of the body (chunks, content-length) is broken") from problem

    async def whole(self, cap: int, within: float | None = None) -> bytes:
        """All of it, which is at most `cap` bytes, and is there `within` so many seconds; by default `WHOLE_S`."""
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


async def whole_body(request: web.Request) -> bytes:
    """All of the body, for who does nothing before it is there. Raises `Refused`."""
    try:
        return await RequestBody(request, WHOLE_S).whole(request.client_max_size)
    except BrokenOff as lost:
        raise broken_off(lost) from lost


def stopping(detail: str) -> Refused:
    """What a client is told that is to come to another gateway."""
    return Refused(STOPPING, detail, headers={"retry-after": AGAIN_S})


def broken_off(lost: BrokenOff | None = None) -> Refused:
    """What is said of a body whose end did not come. Its client reads it where the server stops, and else is gone."""
    if isinstance(lost, Stopping):
        return stopping("this gateway stops, and the end of the body had not come; send it through another one")
    return Refused(BAD_REQUEST, "the connection was lost before the end of the body")


def _too_large(cap: int) -> Refused:
    return Refused(TOO_LARGE, f"the body may have {cap} bytes (gateway.body_kib)")
