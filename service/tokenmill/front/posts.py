"""`POST /v1/chat/completions`, `/v1/responses` and `/v1/messages`: an answer, streamed or in one piece.

1. The client's grant is checked before its body is read. A request that can't be answered is refused before a record is
   written, with the name of the field, in the error object of the API. A request counts as one connection, from its
   body to the end of its answer.
2. The response's status waits up to `front.first_s` for the first event, so that a model server's refusal keeps its own
   status.
3. A repeated request gets the existing answer, from its beginning. An answer that failed before its content, or was
   stopped because it had no reader, is asked for again. In the background, a failed response is returned as it is.
4. No client waits much longer than `front.answer_s`: a stream that is not over by then is cut off.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
from aiohttp import web

from tokenmill.apis import APIS, RESPONSES, Api, BadAsk
from tokenmill.apis.ask import Json
from tokenmill.apis.namespaces import told_apart
from tokenmill.apis.reading import holds_more, is_deeper
from tokenmill.apis.record import own_prefix
from tokenmill.caller.served import unknown_model
from tokenmill.front.failure import Failed
from tokenmill.front.following import Following
from tokenmill.front.framing import response_framing
from tokenmill.front.identity import identify
from tokenmill.front.readers import Reader
from tokenmill.front.request_index import KnownRequest
from tokenmill.front.requests import ApiRequest
from tokenmill.front.retries import earlier_request
from tokenmill.front.route_context import AnswerRef, RouteContext, place_of, since
from tokenmill.front.whole import Whole, collected, unbegun
from tokenmill.gateway.auth.grant import Grant, must_allow
from tokenmill.gateway.event_log.reading import Start
from tokenmill.gateway.http.request_body import whole_body
from tokenmill.gateway.http.request_values import conversation_id, tracing_of
from tokenmill.gateway.problems import TOO_LARGE, Refused
from tokenmill.limits import JSON_DEPTH

BODY_S = 60.0
"""Seconds for a body with images to arrive: a megabyte at 140 kbit/s."""

BODY_DEPTH = 2 * JSON_DEPTH
"""Levels of nesting that a body may have: those of a call's arguments in the history, and of the objects around them.
All later readers of the body can read as many."""

BODY_VALUES = 50_000
"""JSON values that a body may have. A long conversation with many tools has some thousands. A megabyte of nothing but
lists has 350,000, which take 26 times its bytes once they are decoded, here and in the caller."""

JSON = "application/json"


class Posts:
    """The routes that take requests for answers."""

    def __init__(self, context: RouteContext) -> None:
        self._context = context

    def routes(self) -> list[web.RouteDef]:
        """Return the routes, one for each API."""
        return [web.post(api.path, partial(self.post, api)) for api in APIS]

    async def post(self, api: Api, request: web.Request) -> web.StreamResponse:
        """Answer a request of one API: with the answer to an earlier one that it repeats, or with a new answer.

        Raises `BadAsk`, `Failed`, `Refused` and `Unavailable`.
        """
        context = self._context
        grant = await context.admission.may(request, "write")
        with context.admission.slot(grant):
            asked = await self._read(api, request, grant)
            known, attempt = await earlier_request(context, asked), 0
            if known is not None:
                answer = await self._earlier_answer(request, asked, known)
                if answer is not None:
                    return answer
                attempt = context.requests.again(known)
            return await self._new_answer(request, asked, attempt)

    # Reading the request

    async def _read(self, api: Api, request: web.Request, grant: Grant) -> ApiRequest:
        """Read a request, and check that the client may write to its conversation. Raises `BadAsk` and `Refused`."""
        context, body = self._context, await _body(request)
        fields = _object(body)
        ask = api.read(fields)
        served = context.models.get(ask.model)
        if served is None:
            raise unknown_model(ask.model, context.models)
        served.plan(ask, api.name, fields)
        identity = identify(api, ask, request.headers, grant.name, body)
        conversation = identity.conversation or own_prefix(grant.name)
        must_allow(grant, conversation_id(conversation), "write")
        span = context.serving.telemetry.current(tracing_of(request.headers))
        span.name(f"chat {ask.model}")
        span.say({"gen_ai.operation.name": "chat", "gen_ai.request.model": ask.model})
        return ApiRequest(api, ask, body, identity, grant, span.headers)

    # Answering it

    async def _earlier_answer(
        self, request: web.Request, asked: ApiRequest, known: KnownRequest
    ) -> web.StreamResponse | None:
        """Respond with the answer to an earlier request; return None if the answer has to be asked for again."""
        context = self._context
        if context.requests.abandoned(known):
            return None  # the answer is incomplete, and no client asked for that
        context.numbers.add("tokenmill_front_attached_total", "key" if asked.identity.key else "retry")
        await context.requests.attached(known)
        return await self._existing_answer(request, asked, known)

    async def _new_answer(self, request: web.Request, asked: ApiRequest, attempt: int) -> web.StreamResponse:
        """Ask for an answer, and respond with it.

        Reading starts before the request's own record is written, so that no event is missed. If another front wrote
        the same request first, its answer is the response.
        """
        context = self._context
        new = context.requests.new(asked, attempt)
        with context.readers.reading(new.conversation, new.message_id, stays=new.stays) as reader:
            starts = partial(context.clocks.compare, new.time_ms)
            async with context.following(new.conversation, new.message_id, "now", asked.grant, starts) as following:
                counts = await context.requests.write(asked, new)
                if counts is new:
                    answer = await self._respond(request, asked, new, following, reader)
                    assert answer is not None  # noqa: S101 -- only an existing answer may have to be asked for again
                    return answer
            reader.done = True
        answer = await self._existing_answer(request, asked, counts)
        return answer if answer is not None else await self._new_answer(request, asked, context.requests.again(counts))

    async def _existing_answer(
        self, request: web.Request, asked: ApiRequest, known: KnownRequest
    ) -> web.StreamResponse | None:
        """Respond with an existing answer from its beginning; return None if it failed before its content."""
        context, start, grant = self._context, since(known.time_ms), asked.grant
        with context.readers.reading(known.conversation, known.message_id, stays=known.stays) as reader:
            async with context.following(known.conversation, known.message_id, start, grant) as following:
                return await self._respond(request, asked, known, following, reader, again=True)

    async def _respond(
        self,
        request: web.Request,
        asked: ApiRequest,
        known: KnownRequest,
        following: Following,
        reader: Reader,
        *,
        again: bool = False,
    ) -> web.StreamResponse | None:
        """Respond with a message as soon as it has begun.

        A failure raises `Failed`; if the answer existed before (`again`), return None instead: it is asked for again.
        """
        context, ask = self._context, asked.ask
        if not ask.stream and ask.background:
            reader.done = True
            return await self._current_state(asked, known, following, again=again)
        with _with_place(known):
            if not ask.stream:
                return await self._whole(asked, known, following, reader, again=again)
            await following.opened(context.config.front.first_s)
            if following.opening.failure is not None:
                reader.done = True
                if again:
                    return None
                raise following.opening.failure
        start: Start = following.start
        framing = response_framing(ask.namespaces)
        async with following.waited_for():
            ref = AnswerRef(known.conversation, known.message_id, known.time_ms)
            return await context.streamed(request, asked.api, ref, start, asked.grant, reader, framing)

    async def _whole(
        self, asked: ApiRequest, known: KnownRequest, following: Following, reader: Reader, *, again: bool
    ) -> web.Response | None:
        whole = Whole(asked.api, following.first_event)
        try:
            body = await collected(whole, following.frames(), self._context.config.front.answer_s)
        except Failed:
            if whole.over:
                reader.done = True
                if again:
                    return None
            raise
        reader.done = True
        return _whole_response(asked, known, body)

    async def _current_state(
        self, asked: ApiRequest, known: KnownRequest, following: Following, *, again: bool
    ) -> web.Response:
        """Return a background response in its current state: `queued` until a caller has taken it."""
        whole = Whole(RESPONSES)
        for frame in await following.past() if again else ():
            whole.take(frame)
        response = whole.so_far() or unbegun(known, stopped=self._context.requests.stopped(known))
        return _whole_response(asked, known, msgspec.json.encode(response))


def _whole_response(asked: ApiRequest, known: KnownRequest, body: bytes) -> web.Response:
    """Return the HTTP response with a whole answer, with tools under the names that the client gave them."""
    if namespaces := asked.ask.namespaces:
        body = told_apart(body, namespaces)
    return web.Response(body=body, content_type=JSON, headers=place_of(known.conversation, known.message_id))


@contextmanager
def _with_place(known: KnownRequest) -> Iterator[None]:
    """A block whose failures get the headers of `place_of`, so that the client can find the answer later."""
    try:
        yield
    except Failed as problem:
        problem.headers |= place_of(known.conversation, known.message_id)
        raise


async def _body(request: web.Request) -> bytes:
    try:
        return await whole_body(request, BODY_S)
    except Refused as problem:
        if problem.kind is TOO_LARGE:
            detail = f"the body may have {request.client_max_size} bytes (front.body_kib)"
            raise Refused(TOO_LARGE, detail) from problem
        raise


def _object(body: bytes) -> Json:
    """Read a body as a JSON object. Raises `BadAsk`."""
    try:
        fields = msgspec.json.decode(body, type=dict[str, Any])
    except RecursionError:
        raise _too_deep() from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise BadAsk(f"the body is not a JSON object: {problem}") from problem
    brackets = _brackets(body)
    if brackets > BODY_DEPTH and is_deeper(fields, BODY_DEPTH):
        raise _too_deep()
    if brackets + body.count(b",") > BODY_VALUES and holds_more(fields, BODY_VALUES):
        raise BadAsk(f"the body has more than {BODY_VALUES:,} JSON values; send fewer messages or tools")
    return fields


def _brackets(body: bytes) -> int:
    """Return the number of opening brackets, an upper bound of the depth: a body with few need not be walked.

    Brackets and commas together are an upper bound of the number of values: each value but the outermost is the first
    of its object or list, or follows a comma.
    """
    return body.count(b"{") + body.count(b"[")


def _too_deep() -> BadAsk:
    return BadAsk(f"the body is nested more than {BODY_DEPTH} levels deep")
