"""The way to model servers: one connection pool, a deadline for each wait, and failures as what they mean for clients.

1. No wait is without an end: for a connection, for the first byte of an answer, and between two pieces of it. Servers
   send their head, and comments that keep the connection open, before they have read the prompt: neither is that byte.
   So a prompt has its time though a proxy says one word first; and where comments go on, a server that is at work is
   waited for, as long as the next one comes within the silence that an answer may have.
2. A server's own refusal keeps its status and the beginning of its body, which may hold prompts and is not logged; one
   of our key is told as our own fault (`failure.refusal`).
3. Redirects are not followed: they would take the key elsewhere.
4. A body whose answer is over is read to its end, so that its connection can be used again. Nobody waits for that.
5. Answers are not to be compressed, and those that are all the same are not read: a packet may become gigabytes.
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
"""Bytes that an answer may have that is read whole: a prompt of a million tokens."""

PIECE_BYTES = 64 * 1024
"""Bytes of an answer that are read at once."""

KEEP_S = 15.0
"""Seconds that an idle connection is kept. Servers close theirs after some seconds, and a request sent then fails."""

MOMENT_S = 0.05
"""Least seconds for the first byte after a head that came late."""

REST_S, REST_BYTES = 0.5, 64 * 1024
"""Seconds and bytes in which a body whose answer is over has to end: it has `[DONE]`, and maybe counts."""

ABORT_S = 5.0
"""Seconds to tell a server that an answer is no longer wanted."""

LOGGED_CHARS = 300
"""Characters that are logged of why a server can't be reached."""

REDIRECT, UNKNOWN = 300, 600
"""First status that is not a success, first beyond HTTP's range."""

PLAIN = "identity"
"""The coding of a body that is not compressed."""

_LOST = (aiohttp.ClientError, OSError, RuntimeError)
"""What a lost connection raises. The last one is raised where aiohttp closed it, as what came was not HTTP."""

_MESSAGES = ("message", "detail", "error")
"""Where servers say what was wrong."""


def _never() -> bool:
    """Of an answer that is left as soon as nobody reads on."""
    return False


class Http:
    """A session, inside its `async with` block."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._ending = Tasks()
        """Bodies that are read to their ends."""

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_S)  # places are counted elsewhere
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
        """All that a call is answered with, up to `PROMPT_BYTES`. Raises `UpstreamFailed`."""
        async with self._answered(url, call, headers, upstream, _never) as response:
            with _Failing():
                async with asyncio.timeout(upstream.silence_s):
                    return await _beginning(response, PROMPT_BYTES)

    async def streamed(
        self,
        url: str,
        call: Call,
        headers: Mapping[str, str],
        upstream: Upstream,
        over: Callable[[], bool] = _never,
    ) -> AsyncGenerator[bytes]:
        """What a call is answered with, as it comes. Raises `UpstreamFailed`.

        `over` says, when nobody reads on, whether that is because all of the answer has come: else the server is left.
        """
        until, begun = time.monotonic() + upstream.first_byte_s, False
        async with self._answered(url, call, headers, upstream, over) as response:
            del call  # its body was sent
            with _Failing(), closing(ResettableTimeout(_left(until))) as limit:
                while True:
                    with limit:
                        piece = await response.content.readany()
                    if not piece:
                        return
                    if not begun:
                        begun = not _only_comments(piece)
                        limit.change(upstream.silence_s if begun else max(_left(until), upstream.silence_s))
                    with _left_alone(response):
                        for start in range(0, len(piece), PIECE_BYTES):
                            yield piece[start : start + PIECE_BYTES]

    async def abort(self, url: str, call: Call, headers: Mapping[str, str], upstream: Upstream) -> None:
        """Tell a server that an answer is not wanted; whether it hears that changes nothing."""
        try:
            async with asyncio.timeout(ABORT_S), self._post(url, call, headers, upstream):
                pass
        except (aiohttp.ClientError, OSError, TimeoutError):
            return

    def _post(self, url: str, call: Call, headers: Mapping[str, str], upstream: Upstream) -> Any:
        if self._session is None:
            raise RuntimeError("an Http is used inside its `async with` block")
        return self._session.post(
            url + call.path,
            data=BytesIO(msgspec.json.encode(call.body)),  # in pieces: a prompt may have megabytes
            headers={"content-type": "application/json", **headers, **call.headers},
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=upstream.connect_s),
        )

    @asynccontextmanager
    async def _answered(
        self, url: str, call: Call, headers: Mapping[str, str], upstream: Upstream, over: Callable[[], bool]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response that is no refusal, once its head is there; closed in the end, whatever is left of it."""
        request = self._post(url, call, headers, upstream)
        del call
        with _Failing():
            async with asyncio.timeout(upstream.first_byte_s):
                response = await request
        try:
            if response.status >= REDIRECT:
                raise await _refusal(response, upstream)
            if _compressed(response):
                raise UpstreamFailed("the model's server compressed its answer unasked", "unreadable", again=False)
            yield response
        finally:
            if over() and response.connection is not None:
                self._read_on(response)
            else:
                response.close()

    def _read_on(self, response: aiohttp.ClientResponse) -> None:
        """Beside what is done next: nobody waits for the end of what is over."""
        task = self._ending.begin(_ended(response), "the end of a body")
        task.add_done_callback(lambda _: response.close())  # a task that is cancelled at once does nothing itself


async def _ended(response: aiohttp.ClientResponse) -> None:
    """Read a body to its end, for a moment."""
    with suppress(TimeoutError, *_LOST):
        async with asyncio.timeout(REST_S):
            left = REST_BYTES
            while left > 0 and (piece := await response.content.readany()):
                left -= len(piece)


def _left(until: float) -> float:
    """Seconds up to then, or the moment that it takes to read what came with the head."""
    return max(until - time.monotonic(), MOMENT_S)


def _only_comments(piece: bytes) -> bool:
    """Whether it is nothing but comments of SSE; where one is cut, the rest of it is taken for an answer."""
    return all(line.startswith(b":") for line in piece.splitlines() if line)


def _compressed(response: aiohttp.ClientResponse) -> bool:
    return response.headers.get(CONTENT_ENCODING, PLAIN).lower() != PLAIN


@contextmanager
def _left_alone(response: aiohttp.ClientResponse) -> Iterator[None]:
    """What comes meanwhile stays in the socket, from which all of it is read at once: each read has its cost.

    Nothing that was read is left behind it: so the client has not stopped reading by itself, and is not set going here.
    """
    connection = response.connection
    transport = connection and connection.transport
    if transport is None:  # all of it has come
        yield
        return
    transport.pause_reading()
    try:
        yield
    finally:
        if not transport.is_closing():
            transport.resume_reading()


async def _beginning(response: aiohttp.ClientResponse, most: int) -> bytes:
    """A body, as far as that: one read gives what has arrived."""
    pieces, size = list[bytes](), 0
    while size < most and (piece := await response.content.read(most - size)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


async def _refusal(response: aiohttp.ClientResponse, upstream: Upstream) -> UpstreamFailed:
    """Read a server's own refusal as a failure."""
    try:
        async with asyncio.timeout(upstream.connect_s):
            raw = "" if _compressed(response) else (await _beginning(response, RAW_CHARS)).decode(errors="replace")
    except _LOST:
        raw = ""
    # A redirect is no answer, and 999 is what some filters say.
    known = HTTPStatus.BAD_REQUEST <= response.status < UNKNOWN
    status = response.status if known else HTTPStatus.BAD_GATEWAY
    message = message_of(raw) or f"the model's server answered {response.status}"
    problem = refusal(status, message, raw, again=status in AGAIN)
    problem.logged = f"status {response.status}"
    problem.pause_s = retry_after(response.headers, time.time())
    return problem


def message_of(raw: str) -> str:
    """What a body of an error says, in whichever of the usual shapes; empty if it says nothing."""
    try:
        said = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return ""
    for _ in range(2):
        if not isinstance(said, dict):
            break
        said = next((said[name] for name in _MESSAGES if said.get(name)), "")
    return said if isinstance(said, str) else ""


class _Failing:
    """Classifies what the HTTP client raised. Its own words are about hosts and sockets, or may quote what came."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, _trace: object) -> None:
        if isinstance(problem, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            message = "the model's server can't be reached"
            logged = f"{message}: {problem}"[:LOGGED_CHARS]  # a host, a port, and what the system says
            raise UpstreamFailed(message, "connect", HTTPStatus.SERVICE_UNAVAILABLE, logged=logged) from problem
        if isinstance(problem, TimeoutError):
            message = "the model's server was silent for too long"
            raise UpstreamFailed(message, "slow", HTTPStatus.GATEWAY_TIMEOUT) from problem
        if isinstance(problem, _LOST):
            message = "the connection to the model's server was lost"
            raise UpstreamFailed(message, "broken-off", logged=f"{message}: {type(problem).__name__}") from problem
