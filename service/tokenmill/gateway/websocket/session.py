"""One WebSocket from its handshake to its close: its client's frames, what it reads, and why it ends."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple, TypeAlias

import msgspec
from aiohttp import WSMessage, WSMsgType, web
from aiohttp.hdrs import AUTHORIZATION
from multidict import CIMultiDict

from tokenmill.errors import Unavailable
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.authorizer import TICKET
from tokenmill.gateway.auth.grant import Action, Grant, must_allow, unauthenticated
from tokenmill.gateway.http.request_values import conversation_id
from tokenmill.gateway.problems import BAD_REQUEST, CONFLICT, NOT_FOUND, PASSING, TOO_MANY, UNAVAILABLE, Refused, shown
from tokenmill.gateway.streams.framing import drawn_retry_ms
from tokenmill.gateway.streams.service import StreamService
from tokenmill.gateway.streams.stream_request import StreamRequest
from tokenmill.gateway.websocket.client_frames import Subscribe, conversation_in, read_frame, read_subscribe
from tokenmill.gateway.websocket.pipe import WebSocketPipe
from tokenmill.gateway.websocket.server_frames import (
    ENDINGS,
    FAILED,
    FINISHED,
    LATER,
    LEFT,
    NOT_ALLOWED,
    PING,
    SILENT,
    SLOW,
    CloseReason,
    WebSocketFraming,
    pong,
)
from tokenmill.limits import KIB
from tokenmill.observe.gateway_table import Outcome
from tokenmill.tasks import cancelled

log = logging.getLogger(__name__)

FIRST_S = 5.0
"""Seconds within which a client has to make its request: until then it holds a connection for nothing."""

PING_S = 20.0
"""Seconds of a client's silence after which it is pinged; proxies close what is silent for a minute."""

MISSES = 2
"""Unanswered pings after which the client counts as gone."""

FRAMES_PER_WINDOW = 200
"""Frames that a client may send within `WINDOW_S`: a page sends a few; a flood would keep the process from serving
others."""

WINDOW_S = 10.0

SUBSCRIPTIONS = 64
"""Conversations of one socket: a page shows a few."""

CLOSE_S = 2.0
"""Seconds for the close frame to reach the client, and for its own to come back."""

Write: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, object]]]
"""Writes the content of a client's frame to a conversation, and returns the answer. Raises `Refused`."""


class Shared(NamedTuple):
    """What all sockets of a process share."""

    serving: StreamService
    admission: Admission
    writes: Mapping[str, tuple[Action, Write]]


class ShownCredentials(NamedTuple):
    """Credentials, and the grant that they led to."""

    request: web.BaseRequest
    grant: Grant | None


class WebSocketSession:
    """One socket: takes the frames of its client, runs a stream for each conversation that it reads, and closes it."""

    def __init__(
        self,
        shared: Shared,
        request: web.Request,
        response: web.WebSocketResponse,
        pipe: WebSocketPipe,
        conversation: str | None,
    ) -> None:
        """`conversation` is the only one; None: the client names them."""
        self._shared = shared
        self._request = request
        self._response = response
        self._pipe = pipe
        self._conversation = conversation
        self._shown = ShownCredentials(request, None)
        """Credentials of the last subscription, for conversations that are not read."""
        self._shown_for: dict[str, ShownCredentials] = {}
        """Credentials for each conversation that is read."""
        self._reads: dict[str, asyncio.Task[None]] = {}
        self._ended: asyncio.Future[CloseReason] = asyncio.get_running_loop().create_future()
        self._slot = ExitStack()
        self._window = 0.0
        self._frames = 0

    def end(self, ending: CloseReason) -> None:
        """Close it; the first reason counts."""
        if not self._ended.done():
            self._ended.set_result(ending)

    def send_back(self, ending: CloseReason) -> None:
        """Close it, after a message with the time to come back."""
        if not self._ended.done():
            self._come_back(drawn_retry_ms())
            self.end(ending)

    async def run(self) -> None:
        """Serve it until it is closed."""
        with self._slot:
            listening = asyncio.create_task(self._listen())
            try:
                await asyncio.wait({listening, self._ended}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await cancelled(listening, *self._reads.values())
            await self._close(self._ended.result() if self._ended.done() else listening.result())

    async def _close(self, ending: CloseReason) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._response.close(code=ending.code, message=ending.reason.encode())
        if not self._response.closed:
            self._pipe.reset()

    # Frames of the client

    async def _listen(self) -> CloseReason:
        try:
            ending = await self._first()
            while ending is None:
                ending = await self._next()
        except Refused as refusal:
            self._refuse(refusal, "")
            return self._turned_away(refusal)
        return ending

    async def _first(self) -> CloseReason | None:
        """Take frames until the client reads something. Raises `Refused`."""
        # A ticket, like `authorization`, identifies the client, and is not part of its request.
        query = {name: value for name, value in self._request.query.items() if name != TICKET}
        if query and self._conversation is not None:
            await self._subscribe(read_subscribe(query))
            return None
        self._slot.enter_context(self._shared.admission.unnamed_slot())
        try:
            async with asyncio.timeout(FIRST_S):
                ending = None
                while ending is None and not self._reads:
                    ending = await self._next()
                return ending
        except TimeoutError:
            raise Refused(
                BAD_REQUEST, f"send what to subscribe to in the URL, or in a frame within {FIRST_S:g} s"
            ) from None

    async def _next(self) -> CloseReason | None:
        """Take one frame of the client. Raises `Refused`."""
        for missed in range(MISSES + 1):
            try:
                message = await self._response.receive(timeout=PING_S)
            except TimeoutError:
                if missed < MISSES:
                    self._pipe.write(PING)
            else:
                return await self._took(message)
        self._come_back(drawn_retry_ms())
        return SILENT

    async def _took(self, message: WSMessage) -> CloseReason | None:
        if self._is_flooded():
            detail = f"more than {FRAMES_PER_WINDOW} frames within {WINDOW_S:g} s, including pings; send fewer"
            self._refuse(Refused(TOO_MANY, detail), "")
            return NOT_ALLOWED
        if message.type is WSMsgType.TEXT:
            await self._handle_frame(message.data)
        elif message.type is WSMsgType.PING:
            self._send_frame(pong(bytes(message.data)))
        elif message.type is WSMsgType.BINARY:
            raise Refused(BAD_REQUEST, "a frame must be one JSON object in a text message, not in a binary one")
        elif message.type is not WSMsgType.PONG:
            return LEFT
        return None

    def _is_flooded(self) -> bool:
        """Count a frame, and return whether it is one too many."""
        now = asyncio.get_running_loop().time()
        if now - self._window > WINDOW_S:
            self._window, self._frames = now, 0
        self._frames += 1
        return self._frames > FRAMES_PER_WINDOW

    async def _handle_frame(self, content: str) -> None:
        """Do what a frame asks for. Raises `Refused` for one that is not understood, or that ends the socket."""
        frame = read_frame(content)
        if frame.type == "subscribe":
            await self._subscribe(read_subscribe(frame.fields))
        elif frame.type == "unsubscribe":
            await self._unsubscribe(self._conversation_named(conversation_in(frame.fields)))
        elif frame.type in self._shared.writes:
            await self._write(frame.type, conversation_in(frame.fields), frame.fields)
        else:
            words = ", ".join(["subscribe", "unsubscribe", *self._shared.writes])
            raise Refused(BAD_REQUEST, f"the type of a frame is {shown(frame.type)}; expected one of {words}")

    def _conversation_named(self, name: str) -> str:
        """Return the conversation that a frame names, or the only one if it names none. Raises `Refused`."""
        if self._conversation is not None and name not in ("", self._conversation):
            raise Refused(BAD_REQUEST, "this address is for one conversation; use /v1/ws for several")
        return conversation_id(name or self._conversation or "")

    async def _write(self, kind: str, name: str, fields: Mapping[str, Any]) -> None:
        action, write = self._shared.writes[kind]
        # The conversation is the address of the write, and not part of its body.
        body = {field: value for field, value in fields.items() if field != "conversation"}
        try:
            conversation = self._conversation_named(name)
            await self._allowed(self._shown_for.get(conversation, self._shown), conversation, action)
            answer = await write(conversation, body)
        except Refused as refusal:
            self._refuse(refusal, name)
        except Unavailable:
            self._refuse(Refused(UNAVAILABLE, "try again in a moment"), name)
        else:
            self._notice(kind, answer, conversation)

    # Readings

    async def _subscribe(self, wanted: Subscribe) -> None:
        conversation = self._conversation_named(wanted.conversation)
        asked = wanted.as_request(conversation, self._framing(conversation))
        shown = self._showing(wanted.authorization) if wanted.authorization else self._shown
        try:
            self._check_room(conversation)
            grant = await self._let_in(shown, conversation)
        except Refused as refusal:
            if self._conversation is not None or not self._reads:
                raise
            self._refuse(refusal, conversation)
            return
        task = self._reads[conversation] = asyncio.create_task(self._read(asked, grant))
        task.add_done_callback(self._failed)

    def _check_room(self, conversation: str) -> None:
        """Raise `Refused` for a conversation that is read already, and for one too many."""
        if conversation in self._reads:
            raise Refused(CONFLICT, f"{shown(conversation)} is subscribed to already; unsubscribe first")
        if len(self._reads) >= SUBSCRIPTIONS:
            raise Refused(TOO_MANY, f"a WebSocket can have at most {SUBSCRIPTIONS} subscriptions; open another one")

    def _showing(self, authorization: str) -> ShownCredentials:
        """Return the handshake's request with other credentials. Raises `Refused`."""
        if not authorization.isprintable() or not authorization.isascii():
            raise Refused(BAD_REQUEST, "authorization: expected the value of a header of that name")
        headers = CIMultiDict(self._request.headers)
        headers[AUTHORIZATION] = authorization
        return self._shown._replace(request=self._request.clone(headers=headers))

    async def _let_in(self, shown: ShownCredentials, conversation: str) -> Grant:
        """Let a reader in. A socket has one slot, under the name that read first. Raises `Refused` if there is none."""
        grant = await self._allowed(shown, conversation, "read")
        # Refused credentials do not replace good ones.
        self._shown = self._shown_for[conversation] = ShownCredentials(shown.request, grant)
        if not self._reads:
            self._slot.close()  # the slot from before its name was known
            self._slot.enter_context(self._shared.admission.slot(grant))
        return grant

    async def _allowed(self, shown: ShownCredentials, conversation: str, action: Action) -> Grant:
        """Return the grant that allows the action. Raises `Refused`.

        A ticket is checked once: what it opened lasts as long as the rights behind it.
        """
        opened = shown.grant
        if opened is None or not opened.by_ticket:
            return await self._shared.admission.check(shown.request, conversation, action)
        if not self._shared.admission.held(opened)():
            raise unauthenticated("the credentials of this ticket have expired; get a new one", "expired")
        must_allow(opened, conversation, action)
        return opened

    async def _read(self, asked: StreamRequest, grant: Grant) -> None:
        serving, conversation, held = self._shared.serving, asked.conversation, self._shared.admission.held(grant)
        try:
            async with serving.prepared(asked, grant.name) as prepared:
                finished = prepared.nothing_comes(asked)
                outcome = "finished" if finished else await serving.attend(asked, prepared, self._pipe, held)
        except Refused as refusal:
            self._refuse_reading(refusal, conversation)
        except Unavailable:
            self._refuse_reading(Refused(UNAVAILABLE, "try again in a moment"), conversation)
        except TimeoutError:
            self.end(SLOW)
        except ConnectionError:
            self.end(LEFT)
        else:
            self._is_over(conversation, outcome)

    def _failed(self, task: asyncio.Task[None]) -> None:
        """Log an unexpected failure, and end the socket."""
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.error("reading for a WebSocket failed; the WebSocket is closed", exc_info=problem)
            self.end(FAILED)

    def _is_over(self, conversation: str, outcome: Outcome) -> None:
        if outcome != "finished":
            self.send_back(ENDINGS[outcome])
        else:
            if self._conversation is None:
                self._notice("finished", {}, conversation)
            self._stopped(conversation)
            if self._conversation is not None:
                self.end(FINISHED)

    def _refuse_reading(self, refusal: Refused, conversation: str) -> None:
        """Stop reading a conversation, which ends a socket that has no other."""
        self._refuse(refusal, conversation)
        self._stopped(conversation)
        if self._conversation is not None:
            self.end(self._turned_away(refusal))

    async def _unsubscribe(self, conversation: str) -> None:
        if (task := self._reads.get(conversation)) is None:
            self._refuse(Refused(NOT_FOUND, f"{shown(conversation)} is not subscribed to here"), conversation)
            return
        await cancelled(task)
        self._stopped(conversation)
        self._notice("unsubscribed", {}, conversation)

    def _stopped(self, conversation: str) -> None:
        self._shown_for.pop(conversation, None)
        self._reads.pop(conversation, None)

    # Messages to the client

    def _framing(self, conversation: str) -> WebSocketFraming:
        return WebSocketFraming(conversation if self._conversation is None and conversation else None)

    def _notice(self, name: str, fields: Mapping[str, object], conversation: str) -> None:
        self._send_frame(self._framing(conversation).notice(name, fields))

    def _send_frame(self, data: bytes) -> None:
        """Answer; a client that does not read its answers is too slow."""
        if self._pipe.buffered > self._shared.serving.settings.buffer_kib * KIB:
            self.end(SLOW)
        else:
            self._pipe.write(data)

    def _come_back(self, retry_ms: int) -> None:
        """Tell the client before the close when to come back."""
        self._send_frame(self._framing("").goodbye(retry_ms))

    def _turned_away(self, refusal: Refused) -> CloseReason:
        """Return why a refused client's socket is closed; for what passes, tell it when to come back."""
        if refusal.kind.status not in PASSING:
            return NOT_ALLOWED
        after_s = refusal.headers.get("retry-after")
        self._come_back(int(after_s) * 1000 if after_s else drawn_retry_ms())
        return LATER

    def _refuse(self, refusal: Refused, conversation: str) -> None:
        self._notice("error", msgspec.json.decode(refusal.body()), conversation)
