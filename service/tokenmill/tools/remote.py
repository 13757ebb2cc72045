"""A server that is reached by HTTP, with a client that bounds the length of answers.

Answers must not be compressed: a few bytes on the way may be many here. Redirects are not followed, not even within a
server, where the SDK would: no server sends us elsewhere with our headers. An error of ours replaces the answer of a
server that has forgotten our session: servers word it differently, and the caller has to know that no tool was called.
An error that is not one of the protocol is replaced, too, as the SDK does not report its status.
"""

import asyncio
import math
import re
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import cast

import httpx2
from mcp.types import INTERNAL_ERROR, METHOD_NOT_FOUND, JSONRPCError, jsonrpc_message_adapter

from tokenmill.parser.values.repair import HALF_PAIR
from tokenmill.tools.program import ANSWER_BYTES, TOO_LONG
from tokenmill.tools.server_file import Remote

CONNECT_S = 10.0
"""Seconds for a connection. Each request sets how long its answer may take."""

END_S = 2.0
"""Seconds that the end of a session may take: the SDK waits for it without a deadline whenever a connection closes."""

PLAIN, EVENTS, JSON = "identity", "text/event-stream", "application/json"

SESSION = "mcp-session-id"
"""Header of the protocol. If a message has it, the answer 404 means that there is no such session."""

FORGOTTEN = -20_404
"""Code of our error for that: not one of the protocol, and not one that a server is likely to choose."""

UNREACHED = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})
"""Answers of a proxy whose server it does not reach, or which has not answered it."""

BROKEN_OFF = -20_502
"""Code of our error for those."""

COMPRESSED = "the answer is compressed, which was not asked for"


def client_of(server: Remote) -> httpx2.AsyncClient:
    """Return a client, to be used as a context manager."""
    return httpx2.AsyncClient(
        headers={**server.headers, "accept-encoding": PLAIN},
        timeout=httpx2.Timeout(None, connect=CONNECT_S),
        follow_redirects=False,
        transport=Bounded(),
    )


class Bounded(httpx2.AsyncHTTPTransport):
    """Breaks off answers that are too long, and refuses compressed ones.

    In a stream of events the SDK bounds each event. A forgotten session, and any other answer that is not a message,
    becomes an error of the protocol.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and bound its answer. The end of a session has a deadline, too."""
        if request.method != "DELETE":
            return await self._asked(request)
        try:
            async with asyncio.timeout(END_S):
                response = await self._asked(request)
                await response.aread()
        except TimeoutError as problem:
            raise httpx2.ReadTimeout(f"no answer within {END_S:g} s") from problem
        return response

    async def _asked(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        status = response.status_code
        if status == HTTPStatus.NOT_FOUND and request.method == "POST" and SESSION in request.headers:
            return await _instead(response, status, FORGOTTEN, "the server has forgotten the session")
        if response.headers.get("content-encoding", PLAIN).strip().lower() != PLAIN:
            await response.aclose()
            raise httpx2.ReadError(COMPRESSED)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        whole = kind != EVENTS or request.method == "DELETE"  # the answer to a DELETE is read whole
        most = ANSWER_BYTES if whole else math.inf
        response.stream = _Taken(cast(httpx2.AsyncByteStream, response.stream), most)
        if response.has_redirect_location:
            where = response.headers["location"].partition("?")[0]  # the query may hold a key
            words = f"{_named(response)} to {where}, which is not followed"
            return await _instead(response, HTTPStatus.BAD_GATEWAY, INTERNAL_ERROR, words)
        if response.is_error and not (kind == JSON and await _is_error(response)):
            return await _instead(response, status, _code_of(status), _named(response))
        return response


def _code_of(status: int) -> int:
    """Return the code of our error in place of an answer with this status that is not a message."""
    if status in UNREACHED:
        return BROKEN_OFF
    return METHOD_NOT_FOUND if status == HTTPStatus.NOT_FOUND else INTERNAL_ERROR


async def _instead(response: httpx2.Response, status: int, code: int, message: str) -> httpx2.Response:
    """Return an error of the protocol in place of an answer."""
    await response.aclose()
    error = {"code": code, "message": message}
    return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": error})


def _named(response: httpx2.Response) -> str:
    return f"the server answered {response.status_code} {response.reason_phrase}"


async def _is_error(response: httpx2.Response) -> bool:
    """Whether an answer is an error of the protocol."""
    try:
        return isinstance(jsonrpc_message_adapter.validate_json(await response.aread(), by_name=False), JSONRPCError)
    except ValueError:
        return False


class _Taken(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, most: float) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, held = 0, b""
        async for piece in self._stream:
            size += len(piece)
            if size > self._most:
                raise httpx2.ReadError(TOO_LONG)
            whole, held = whole_pairs(held + piece)
            yield whole
        yield held

    async def aclose(self) -> None:
        await self._stream.aclose()


ESCAPE_BYTES = 12
"""Bytes of the escapes of a surrogate pair."""

_HEX = rb"[0-9a-fA-F]"
_FIRST, _SECOND, _EITHER = (rb"u[dD][%s]%s{2}" % (digits, _HEX) for digits in (rb"89abAB", rb"c-fC-F", rb"89a-fA-F"))
_BEFORE = rb"(?<!\\)((?:\\\\)*)"
"""Escaped backslashes."""

_PAIRS = re.compile(rb"%s(?:(\\%s\\%s)|\\%s)" % (_BEFORE, _FIRST, _SECOND, _EITHER))
_OPEN = re.compile(rb"%s(\\(?:u%s{0,3}|%s(?:\\(?:u%s{0,3})?)?)?)\Z" % (_BEFORE, _HEX, _FIRST, _HEX))


def whole_pairs(data: bytes) -> tuple[bytes, bytes]:
    r"""Return JSON with `\ufffd` for every half of a surrogate pair, and its end, if an escape may continue there.

    The SDK would refuse the answer otherwise. It reads each piece immediately, so pieces are replaced as they come.
    """
    found = _OPEN.search(data, len(data[:-ESCAPE_BYTES].rstrip(b"\\")))
    cut = found.start(2) if found else len(data)
    whole, held = data[:cut], data[cut:]
    if HALF_PAIR.search(whole):  # rare, and the search is quick
        whole = _PAIRS.sub(lambda pair: pair[0] if pair[2] else pair[1] + rb"\ufffd", whole)
    return whole, held
