"""`/v1/responses/{id}`: an existing response, for clients that know its id and may read its conversation.

1. `GET` returns the response as far as it has come, `queued` until a caller has taken it; with `stream=true`, it
   returns the events from the beginning, or after `starting_after`. The response need not be one in the background.
2. `POST …/cancel` stops the response for all readers, and returns it once it is over. A response that no caller has
   taken is `cancelled`.
3. `DELETE` is refused: a log forgets nothing before its time.
4. Responses are found in the log and in the index of recent requests only. An id contains its time, which leads to its
   place in the log; a response that the log no longer has is not found. A client may have made up an id, so it is
   looked for only in the records of its time and in `LATE` later ones, as a caller that was away writes late. An id
   whose time is in the future is not looked for.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from tokenmill.apis import RESPONSES, BadAsk
from tokenmill.apis.namespaces import told_apart
from tokenmill.apis.record import AnswerId, read_id
from tokenmill.front.clocks import CLOCKS_MS
from tokenmill.front.following import Following
from tokenmill.front.framing import response_framing
from tokenmill.front.route_context import AnswerRef, RouteContext, place_of, since
from tokenmill.front.whole import MORE_S, Whole, unbegun
from tokenmill.gateway.auth.grant import Action, Grant
from tokenmill.gateway.problems import NOT_ALLOWED, NOT_FOUND, Refused

PATH = f"/v1/responses/{{id:{RESPONSES.prefix}[^/]+}}"
"""The path of a response. OpenAI's paths `compact` and `input_tokens` do not match: they lack the prefix of ids."""

JSON = "application/json"

MISSING = "the log has no response with this id, or no longer has it"

KEPT = "a response can't be deleted by its id: it is gone when the retention of its topic has passed"

LATE = 20_000
"""Number of records after an answer's time in which an answer that began late is looked for: 0.2 s of a core."""

CANCEL_S = 10.0
"""Seconds for a cancelled answer to end. It takes a tenth of a second."""

CALL = b'_call"'
"""Occurs in every response that has a call, of a function or a custom tool, which may be in a namespace."""

DIGITS = 16
"""Digits that a `starting_after` may have."""


class Responses:
    """The routes of existing responses."""

    def __init__(self, context: RouteContext) -> None:
        self._context = context

    def routes(self) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            web.get(PATH, self.get, allow_head=False),
            web.delete(PATH, self.delete),
            web.post(f"{PATH}/cancel", self.cancel),
        ]

    async def get(self, request: web.Request) -> web.StreamResponse:
        """Return the response, or with `stream=true` its events. Raises `BadAsk`, `Refused` and `Unavailable`."""
        context = self._context
        answer, conversation, grant = await self._requested(request, "read")
        with context.admission.slot(grant):
            if request.query.get("stream", "false") != "true":
                return await self._object(answer, conversation, grant)
            after = _sequence_number(request.query.get("starting_after"))
            await self._check_exists(answer, conversation, grant)
            framing = response_framing(await context.requests.namespaces(conversation, answer), after)
            context.numbers.add("tokenmill_front_attached_total", "id")
            stays = context.requests.stays(str(answer))
            with context.readers.reading(conversation, str(answer), stays=stays) as reader:
                ref = AnswerRef(conversation, str(answer), answer.time_ms)
                return await context.streamed(request, RESPONSES, ref, since(answer.time_ms), grant, reader, framing)

    async def cancel(self, request: web.Request) -> web.Response:
        """Stop the response, and return it as it is once it is over, or after `CANCEL_S`."""
        answer, conversation, grant = await self._requested(request, "stop")
        with self._context.admission.slot(grant):
            await self._check_exists(answer, conversation, grant)
            await self._context.stops.stop(conversation, str(answer))
            return await self._object(answer, conversation, grant, wait_s=CANCEL_S)

    async def delete(self, _request: web.Request) -> web.StreamResponse:
        """Refuse to delete a response, which the log keeps. Raises `Refused`."""
        raise Refused(NOT_ALLOWED, KEPT, headers={"allow": "GET"})

    async def _requested(self, request: web.Request, action: Action) -> tuple[AnswerId, str, Grant]:
        """Return the id in the path, its conversation, and the client's grant. Raises `Refused`."""
        grant = await self._context.admission.who(request)
        answer = read_id(request.match_info["id"])
        if answer is None or answer.prefix != RESPONSES.prefix or answer.time_ms > _now_ms() + CLOCKS_MS:
            raise Refused(NOT_FOUND, MISSING)
        conversation = answer.conversation_of(grant.name)
        await self._context.admission.check(request, conversation, action)
        return answer, conversation, grant

    async def _check_exists(self, answer: AnswerId, conversation: str, grant: Grant) -> None:
        """Raise `Refused` if the log has neither the answer nor its request."""
        async with self._following(answer, conversation, grant) as following:
            if not await following.past():
                await self._unbegun(answer, conversation)

    async def _unbegun(self, answer: AnswerId, conversation: str) -> dict[str, object]:
        """Return the response of a request that no caller has taken yet. Raises `Refused` if there is no request."""
        requests = self._context.requests
        known = await requests.by_id(conversation, str(answer))
        if known is None:
            raise Refused(NOT_FOUND, MISSING)
        return unbegun(known, stopped=requests.stopped(known))

    async def _object(self, answer: AnswerId, conversation: str, grant: Grant, wait_s: float = 0.0) -> web.Response:
        whole = Whole(RESPONSES)
        async with self._following(answer, conversation, grant) as following:
            past = await following.past()
            for frame in past:
                whole.take(frame)
            if wait_s and past and not whole.over:
                await _wait_for_end(whole, following, wait_s)
        body = msgspec.json.encode(whole.so_far() or await self._unbegun(answer, conversation))
        if CALL in body:
            body = told_apart(body, await self._context.requests.namespaces(conversation, answer))
        return web.Response(body=body, content_type=JSON, headers=place_of(conversation, str(answer)))

    @asynccontextmanager
    async def _following(self, answer: AnswerId, conversation: str, grant: Grant) -> AsyncIterator[Following]:
        """Follow an answer from its beginning inside a block. Raises `Refused` if the log does not have it."""
        start = since(answer.time_ms)
        over_ms = answer.time_ms + int((self._context.config.front.answer_s + MORE_S) * 1000) + CLOCKS_MS
        async with self._context.following(conversation, str(answer), start, grant) as following:
            if over_ms < _now_ms() and not await following.can_be(over_ms, LATE):
                raise Refused(NOT_FOUND, MISSING)
            yield following


def _now_ms() -> int:
    return int(time.time() * 1000)


async def _wait_for_end(whole: Whole, following: Following, wait_s: float) -> None:
    try:
        async with asyncio.timeout(wait_s):
            async for frame in following.frames():
                whole.take(frame)
    except TimeoutError:
        return


def _sequence_number(number: str | None) -> int | None:
    if number is None:
        return None
    if not (number.isascii() and number.isdecimal() and len(number) <= DIGITS):
        raise BadAsk("starting_after must be the sequence_number of an event, in digits", "starting_after")
    return int(number)
