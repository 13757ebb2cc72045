"""`GET /v1/streams/{conversation}`: the reading side of Durable Streams 1.0, in JSON mode.

1. A conversation is a stream of payloads in a dialect. The id of a frame is an offset: `-1` is the beginning, as far
   back as the gateway looks, `now` the head. What follows an offset never changes, so full answers may be cached.
2. Without `live` the answer has the existing frames; `live=long-poll` waits for new ones, `live=sse` sends new ones for
   a minute, then the client comes back.
3. Not offered: PUT, POST and DELETE (chunks are posted elsewhere, to the parser), expiry, forks, and 404: a
   conversation without records is empty. It is never closed; with `until=finish` the end of an answer closes it.
4. Offsets that retention has passed get 410. The client is told of a message that has lost its beginning (`tm-gap`).
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from hashlib import blake2b
from typing import Final

import msgspec
from aiohttp import web

from tokenmill.errors import Unavailable
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.grant import Held, must_hold
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.reading import Reading
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.event_log.window import TURN_BYTES
from tokenmill.gateway.http.request_values import conversation_id, has_etag
from tokenmill.gateway.problems import BAD_POSITION, BAD_REQUEST, Refused, shown
from tokenmill.gateway.routes.durable_framing import (
    CLOSED,
    CURSOR,
    GAP,
    NEXT,
    SECURITY,
    UP_TO_DATE,
    DurableEvents,
    array,
    data,
)
from tokenmill.gateway.streams.framing import LINES
from tokenmill.gateway.streams.http_pipe import HttpPipe, sent_whole
from tokenmill.gateway.streams.hub import Subject
from tokenmill.gateway.streams.service import PreparedReading, StreamService
from tokenmill.gateway.streams.stream_request import StreamRequest, dialect_of, start_of
from tokenmill.observe.gateway_table import Outcome

PATH = "/v1/streams/{conversation}"

ANSWER_BYTES: Final = 1024 * 1024
"""Bytes of one array, after which the client asks for the next: both sides hold it in memory."""

POLL_S: Final = 20.0
"""Seconds that a long poll waits: less than proxies let a connection idle."""

SSE_S: Final = 60.0
"""Seconds after which a client comes back, as the protocol wants it, so that caches can serve several at once."""

CURSOR_S: Final = 20
"""Seconds of one step of a cursor, which keeps caches from answering a poll with an earlier answer."""

FULL: Final = "private, max-age=60, stale-while-revalidate=300"
"""Cache control of an answer that ends before the head, and so never changes; shared caches may not keep it."""

CREDENTIALS: Final = "authorization, x-api-key, cookie"
"""Headers that such an answer depends on: one browser may have several users, one after another."""

ASKED_ANEW: Final = "private, no-cache"
"""Cache control of such an answer if a function authenticates, as it may read any header."""


class LongPoll:
    """Waits at the head for the next record that its client does not have."""

    def __init__(self, place: tuple[int, int]) -> None:
        self._place = place
        self.came: asyncio.Future[list[Frame]] = asyncio.get_running_loop().create_future()

    def tell(self, frames: Sequence[Frame], data: bytes) -> None:  # noqa: ARG002 -- the answer renders the frames
        """Take new frames. A client that came from another gateway, whose reader was ahead of ours, may have some."""
        new = [frame for frame in frames if frame.place > self._place]
        if new and not self.came.done():
            self.came.set_result(new)

    def send_back(self, opened: int, message: bytes) -> None:  # noqa: ARG002 -- the next poll begins earlier
        """End the poll without frames: the client polls again, from an earlier place."""
        self.lose()

    def send_home(self) -> None:
        """End the poll, so that the client polls another process."""
        self.lose()

    def lose(self) -> None:
        """End the poll without frames, so that the client polls again."""
        if not self.came.done():
            self.came.set_result([])


class DurableStreamRoutes:
    """Answers a GET with what follows an offset, immediately or as it comes, and a HEAD with the offset of the end."""

    def __init__(self, serving: StreamService, admission: Admission) -> None:
        self._serving = serving
        self._admission = admission

    def routes(self) -> list[web.RouteDef]:
        """Return the routes for the application."""
        return [web.get(PATH, self.get, allow_head=False), web.head(PATH, self.head)]

    async def head(self, request: web.Request) -> web.Response:
        """Answer with the offset of the head."""
        wanted = _asked(request, "now")
        grant = await self._admission.check(request, wanted.conversation, "read")
        async with self._serving.prepared(wanted, grant.name) as prepared:
            headers = {NEXT: str(prepared.reading.standing), "cache-control": "no-store"} | SECURITY
            return web.Response(headers=headers, content_type="application/json")

    async def get(self, request: web.Request) -> web.StreamResponse:
        """Answer with what follows an offset."""
        live = request.query.get("live", "")
        if live not in ("", "sse", "long-poll"):
            raise Refused(BAD_REQUEST, f"live is {shown(live)}; expected sse or long-poll")
        wanted = _asked(request, _offset(request, live))
        grant = await self._admission.check(request, wanted.conversation, "read")
        held = self._admission.held(grant)
        with self._admission.slot(grant):
            async with self._serving.prepared(wanted, grant.name) as prepared:
                if live == "sse":
                    return await self._events(request, wanted, prepared, held)
                answer = await self._array(request, wanted, prepared, live=bool(live))
                must_hold(held)
                return await sent_whole(request, answer, self._serving.settings.stall_s)

    async def _array(
        self, request: web.Request, wanted: StreamRequest, prepared: PreparedReading, *, live: bool
    ) -> web.Response:
        async with aclosing(_parts(prepared, ANSWER_BYTES)) as parts:
            frames, full = await anext(parts)
        led_on = not frames and self._serving.away(prepared.reading)
        closed = not full and not led_on and _closed(wanted, prepared, frames)
        if live and not frames and not closed and not led_on:
            frames = await self._wait(wanted, prepared)
            closed = _closed(wanted, prepared, frames)
        at = await self._serving.onward(wanted, prepared.reading) if led_on else _behind(prepared, frames)
        headers = {NEXT: str(at), "cache-control": "no-store"} | SECURITY
        more = full or (not closed and self._serving.away(prepared.reading))
        headers |= {} if more else {UP_TO_DATE: "true"}
        if prepared.reading.gap:
            headers[GAP] = "true"
        elif full:  # a later answer may have what is missing now
            headers |= self._kept()
        if closed:
            headers[CLOSED] = "true"
        elif live:
            headers[CURSOR] = _cursor(request)
        if live and not any(frame.payload for frame in frames):
            return web.Response(status=204, headers=headers)
        return _tagged(request, wanted, array(frames), headers)

    def _kept(self) -> dict[str, str]:
        """Return the headers that define how long, and for which client, a full answer may be cached."""
        known = self._serving.settings.auth != "function"
        return {"cache-control": FULL if known else ASKED_ANEW, "vary": CREDENTIALS}

    async def _wait(self, wanted: StreamRequest, prepared: PreparedReading) -> list[Frame]:
        """Return the next frames; none if none come in time."""
        reading = prepared.reading
        waiter = LongPoll(reading.place)
        subject = Subject(reading.partition, wanted.key, wanted.dialect, LINES)
        self._serving.hub.attach(subject, reading.view, waiter)
        try:
            async with asyncio.timeout(POLL_S):
                return await waiter.came
        except TimeoutError:
            return []
        finally:
            self._serving.hub.detach(subject, waiter)

    async def _events(
        self, request: web.Request, wanted: StreamRequest, prepared: PreparedReading, held: Held
    ) -> web.StreamResponse:
        cursor, until = _cursor(request), time.monotonic() + SSE_S

        def stays() -> bool:
            return held() and time.monotonic() < until

        past, live = DurableEvents(cursor, up_to_date=False), DurableEvents(cursor, up_to_date=True)
        response = web.StreamResponse(headers=past.headers)
        pipe = await HttpPipe.opened(request, response, self._serving.settings.stall_s)
        try:
            await _replay(prepared, past, live, pipe, stays, self._serving.away)
            outcome: Outcome = "finished"
            if self._serving.away(prepared.reading) or not _closed(wanted, prepared, ()):
                wanted, rest = msgspec.structs.replace(wanted, framing=live), prepared._replace(peeked=())
                outcome = await self._serving.attend(wanted, rest, pipe, stays)
            if outcome == "finished":
                await pipe.send(live.control(prepared.reading.standing, closed=True))
            elif outcome == "moved":
                await pipe.send(past.control(prepared.reading.standing))  # there may be more at the new place
            if outcome != "slow":  # without a close this is not the end: the client comes back with its offset
                await pipe.finish()
                return response
        except (ConnectionError, TimeoutError, Unavailable):
            pass  # the client left or reads nothing, or the log can't be read: the client comes back with its offset
        pipe.reset()
        return response


def _asked(request: web.Request, offset: str) -> StreamRequest:
    """Return what the request asks for. Raises `Refused`."""
    until = request.query.get("until", "")
    if until not in ("", "finish"):
        raise Refused(BAD_REQUEST, f"until is {shown(until)}; expected finish")
    return StreamRequest(
        conversation=conversation_id(request.match_info["conversation"]),
        dialect=dialect_of(request.query.get("dialect", "native")),
        framing=LINES,
        start={"-1": "start", "now": "now"}.get(offset) or start_of(offset, known_words=False),  # type: ignore[arg-type] # -- the words are two of `Start`'s
        until_finish=bool(until),
    )


def _offset(request: web.Request, live: str) -> str:
    offsets = request.query.getall("offset", [])
    if len(offsets) > 1 or (live and not offsets) or "" in offsets:
        raise Refused(BAD_POSITION, "send one offset: -1, now, or the value of Stream-Next-Offset")
    return offsets[0] if offsets else "-1"


async def _parts(prepared: PreparedReading, most: int) -> AsyncGenerator[tuple[list[Frame], bool]]:
    """Yield frames up to the head, in parts of at most `most` bytes, and whether more may follow each."""
    frames, size = list[Frame](), 0
    async with aclosing(_batches(prepared)) as batches:
        async for came in batches:
            for frame in came:
                size += len(frame.payload)
                if size > most and frames:
                    yield frames, True
                    frames, size = [], len(frame.payload)
                frames.append(frame)
    yield frames, False


async def _batches(prepared: PreparedReading) -> AsyncGenerator[Sequence[Frame]]:
    yield prepared.peeked or ()
    async with aclosing(prepared.reading.frames()) as batches:
        async for frames in batches:
            yield frames


async def _replay(
    prepared: PreparedReading,
    past: DurableEvents,
    live: DurableEvents,
    pipe: HttpPipe,
    stays: Held,
    away: Callable[[Reading], bool],
) -> None:
    """Send the past, as long as the client may stay; the rest may be on another partition (`away`)."""
    async with aclosing(_parts(prepared, TURN_BYTES)) as parts:
        async for frames, full in parts:
            at = prepared.reading.standing = _behind(prepared, frames)
            control = (past if full or away(prepared.reading) else live).control(at, gap=prepared.reading.gap)
            prepared.reading.gap = False  # the client was told
            await pipe.send(data(frames) + control)
            if not stays():
                return


def _behind(prepared: PreparedReading, frames: Sequence[Frame]) -> Position:
    return frames[-1].id(prepared.reading.partition) if frames else prepared.reading.standing


def _closed(wanted: StreamRequest, prepared: PreparedReading, frames: Sequence[Frame]) -> bool:
    """Whether the answer of these frames, or the one that the client had, has ended."""
    if not wanted.until_finish:
        return False
    return frames[-1].last if frames else prepared.reading.answered


def _cursor(request: web.Request) -> str:
    """Return the current step of time, and never the one that the client had."""
    given, now = request.query.get("cursor", ""), int(time.time()) // CURSOR_S
    if given.isascii() and given.isdigit() and len(given) < len(str(now)) + 2:
        now = max(now, int(given) + 1)
    return str(now)


def _tagged(request: web.Request, wanted: StreamRequest, body: bytes, headers: dict[str, str]) -> web.Response:
    """Return the answer, or 304 if the client has it."""
    name = f"{wanted.dialect.name} {headers.get(CLOSED)} {headers[NEXT]}".encode()
    tag = f'"{blake2b(body + name, digest_size=12).hexdigest()}"'
    headers["etag"] = tag
    if has_etag(request, tag):
        return web.Response(status=304, headers=headers)
    return web.Response(body=body, headers=headers, content_type="application/json")
