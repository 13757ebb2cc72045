"""HTTP to model servers: one connection pool, a deadline for each wait, and exceptions as failures of servers.

1. Every wait has a deadline: for a connection, for the first byte of an answer, and between two pieces of it. Servers
   send the response's head, and comments that keep the connection open, before they have read the prompt: neither
   counts as that byte. So a prompt has all of `first_byte_s`, though a proxy sends a comment early; after that, a
   server that goes on to send comments is waited for, as long as the next one comes within `silence_s`.
2. A server's own refusal keeps its status and the beginning of its body, which may quote prompts and is not logged. A
   refusal of our key is reported as our own fault (`failure.refusal`).
3. Redirects are not followed: they would send the key to another server.
4. The rest of a body whose answer is over is read in the background, so that its connection can be used again.
5. Requests ask for uncompressed answers. A compressed answer is refused unread: a packet could become gigabytes.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from http import HTTPStatus
from io import BytesIO
from typing import Any, Self

import aiohttp
import msgspec
from aiohttp.hdrs import ACCEPT_ENCODING, CONTENT_ENCODING

from tokenmill.caller.failure import AGAIN, RAW_CHARS, UpstreamFailed, refusal, retry_after
from tokenmill.caller.kinds import Call
from tokenmill.caller.resettable_timeout import ResettableTimeout
from tokenmill.config import Upstream
from tokenmill.limits import MIB
from tokenmill.tasks import Tasks

PROMPT_BYTES = 16 * MIB
"""Bytes that an answer read by `whole` may have: a prompt of a million tokens."""

PIECE_BYTES = 64 * 1024
"""Bytes of an answer that are handed on at once."""

KEEP_S = 15.0
"""Seconds for which an idle connection is kept. Servers close theirs after some seconds, and a request sent then
fails."""

MOMENT_S = 0.05
"""Least seconds for the first byte after a head that came late."""

REST_S, REST_BYTES = 0.5, 64 * 1024
"""Seconds and bytes in which the rest of a body has to end once its answer is over: `[DONE]`, and maybe token
counts."""

ABORT_S = 5.0
"""Seconds for a request that aborts an answer."""

LOGGED_CHARS = 300
"""Characters that are logged of the reason why a server can't be reached."""

REDIRECT, UNKNOWN = 300, 600
"""First status that is not a success, first beyond HTTP's range."""

PLAIN = "identity"
"""The content coding of a body that is not compressed."""

_LOST = (aiohttp.ClientError, OSError, RuntimeError)
"""Exceptions of a lost connection. aiohttp raises the last one if it closed the connection, as the data was not
HTTP."""

_MESSAGES = ("message", "detail", "error")
"""Members in which servers put the text of an error."""


def _never() -> bool:
    """Return False: the answer is not over, so its connection is closed."""
    return False


class Http:
    """An HTTP session for all model servers, open inside its `async with` block."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._ending = Tasks()
        """Reads bodies to their ends."""

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_S)  # `pool` limits the connections
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={ACCEPT_ENCODING: PLAIN},
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._ending.close()
        if self._session is not None:
            await self._session.close()

    async def whole(self, url: str, call: Call, headers: Mapping[str, str], upstream: Upstream) -> bytes:
        """Make a call, and return its response's body, up to `PROMPT_BYTES`. Raises `UpstreamFailed`."""
        async with self._response(url, call, headers, upstream, _never) as response:
            with _failures_classified():
                async with asyncio.timeout(upstream.silence_s):
                    return await _read_up_to(response, PROMPT_BYTES)

    async def streamed(
        self,
        url: str,
        call: Call,
        headers: Mapping[str, str],
        upstream: Upstream,
        over: Callable[[], bool] = _never,
    ) -> AsyncGenerator[bytes]:
        """Make a call, and yield its response's body as it comes. Raises `UpstreamFailed`.

        When the reader stops, `over` returns whether the answer is over, so that the connection can be kept. Otherwise
        the connection is closed, by which the server learns that the answer is no longer wanted.
        """
        until, begun = time.monotonic() + upstream.first_byte_s, False
        async with self._response(url, call, headers, upstream, over) as response:
            del call  # its body was sent, and may be large
            with _failures_classified(), closing(ResettableTimeout(_seconds_until(until))) as limit:
                while True:
                    with limit:
                        piece = await response.content.readany()
                    if not piece:
                        return
                    if not begun:
                        begun = not _only_comments(piece)
                        limit.change(upstream.silence_s if begun else max(_seconds_until(until), upstream.silence_s))
                    with _reading_paused(response):
                        for start in range(0, len(piece), PIECE_BYTES):
                            yield piece[start : start + PIECE_BYTES]

    async def abort(self, url: str, call: Call, headers: Mapping[str, str], upstream: Upstream) -> None:
        """Ask a server to abort an answer. Failures are ignored: the answer is no longer read in any case."""
        try:
            async with asyncio.timeout(ABORT_S), self._post(url, call, headers, upstream):
                pass
        except (aiohttp.ClientError, OSError, TimeoutError):
            return

    def _post(self, url: str, call: Call, headers: Mapping[str, str], upstream: Upstream) -> Any:
        if self._session is None:
            raise RuntimeError("an Http has no session outside of its `async with` block")
        return self._session.post(
            url + call.path,
            data=BytesIO(msgspec.json.encode(call.body)),  # sent in pieces: a prompt may have megabytes
            headers={"content-type": "application/json", **headers, **call.headers},
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=upstream.connect_s),
        )

    @asynccontextmanager
    async def _response(
        self, url: str, call: Call, headers: Mapping[str, str], upstream: Upstream, over: Callable[[], bool]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield a successful response once its head has come; close it at the end of the block. Raises
        `UpstreamFailed`.
        """
        request = self._post(url, call, headers, upstream)
        del call
        with _failures_classified():
            async with asyncio.timeout(upstream.first_byte_s):
                response = await request
        try:
            if response.status >= REDIRECT:
                raise await _refusal(response, upstream)
            if _compressed(response):
                message = f"the model's server compressed its answer, although {PLAIN} was asked for"
                raise UpstreamFailed(message, "unreadable", again=False)
            yield response
        finally:
            if over() and response.connection is not None:
                self._read_on(response)
            else:
                response.close()

    def _read_on(self, response: aiohttp.ClientResponse) -> None:
        """Read the rest of a body in the background, and close the response."""
        task = self._ending.begin(_read_rest(response), "the end of a body")
        task.add_done_callback(lambda _: response.close())  # not in the task: one cancelled at once never runs


async def _read_rest(response: aiohttp.ClientResponse) -> None:
    """Read a body to its end, within `REST_S` and `REST_BYTES`."""
    with suppress(TimeoutError, *_LOST):
        async with asyncio.timeout(REST_S):
            left = REST_BYTES
            while left > 0 and (piece := await response.content.readany()):
                left -= len(piece)


def _seconds_until(until: float) -> float:
    """Return the seconds until a monotonic time, at least the moment that it takes to read data beside the head."""
    return max(until - time.monotonic(), MOMENT_S)


def _only_comments(piece: bytes) -> bool:
    """Whether bytes are only comments of server-sent events. The rest of a comment that was cut counts as an answer."""
    return all(line.startswith(b":") for line in piece.splitlines() if line)


def _compressed(response: aiohttp.ClientResponse) -> bool:
    return response.headers.get(CONTENT_ENCODING, PLAIN).lower() != PLAIN


@contextmanager
def _reading_paused(response: aiohttp.ClientResponse) -> Iterator[None]:
    """Leave incoming data in the socket inside the block: it is read at once afterwards, as each read has its cost.

    All data that was read has been taken, so aiohttp has not paused reading itself, and resuming is right.
    """
    connection = response.connection
    transport = connection and connection.transport
    if transport is None:  # the whole body has come
        yield
        return
    transport.pause_reading()
    try:
        yield
    finally:
        if not transport.is_closing():
            transport.resume_reading()


async def _read_up_to(response: aiohttp.ClientResponse, most: int) -> bytes:
    """Return the first `most` bytes of a body, or all of a shorter one."""
    pieces, size = list[bytes](), 0
    while size < most and (piece := await response.content.read(most - size)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


async def _refusal(response: aiohttp.ClientResponse, upstream: Upstream) -> UpstreamFailed:
    """Return the failure for a server's own refusal."""
    try:
        async with asyncio.timeout(upstream.connect_s):
            raw = "" if _compressed(response) else (await _read_up_to(response, RAW_CHARS)).decode(errors="replace")
    except _LOST:
        raw = ""
    # False for a redirect, and for 999, which some filters send.
    known = HTTPStatus.BAD_REQUEST <= response.status < UNKNOWN
    status = response.status if known else HTTPStatus.BAD_GATEWAY
    message = message_of(raw) or f"the model's server answered with status {response.status}"
    problem = refusal(status, message, raw, again=status in AGAIN)
    problem.logged = f"status {response.status}"
    problem.pause_s = retry_after(response.headers, time.time())
    return problem


def message_of(raw: str) -> str:
    """Return the message in the JSON body of an error, in any of the usual shapes; empty if there is none."""
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return ""
    for _ in range(2):
        if not isinstance(found, dict):
            break
        found = next((found[name] for name in _MESSAGES if found.get(name)), "")
    return found if isinstance(found, str) else ""


@contextmanager
def _failures_classified() -> Iterator[None]:
    """Turn the HTTP client's exceptions into `UpstreamFailed`, with a message for clients.

    The exceptions' own texts are about hosts and sockets, or may quote received data.
    """
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as problem:
        message = "the model's server can't be reached"
        logged = f"{message}: {problem}"[:LOGGED_CHARS]  # a host, a port, and the system's error
        raise UpstreamFailed(message, "connect", HTTPStatus.SERVICE_UNAVAILABLE, logged=logged) from problem
    except TimeoutError as problem:
        message = "the model's server was silent for too long"
        raise UpstreamFailed(message, "slow", HTTPStatus.GATEWAY_TIMEOUT) from problem
    except _LOST as problem:
        message = "the connection to the model's server was lost"
        raise UpstreamFailed(message, "broken-off", logged=f"{message}: {type(problem).__name__}") from problem
