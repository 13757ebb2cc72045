"""A server that is reached by HTTP, by a client that takes no answer of any length.

Answers are not compressed, and those that are all the same are not read: what is small on its way may be large here.
Redirects are not followed, within a server neither, where the SDK would: no server sends us elsewhere with our headers.
What a server says that has forgotten our session is replaced by an error of ours: each has words of its own, and
whoever called has to know that no tool was. So is an error that is none of the protocol's, whose status the SDK does
not say.
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
"""For a connection. How long an answer may take is the business of each request."""

END_S = 2.0
"""Seconds that the end of a session may take: the SDK waits for it without a deadline whenever a connection closes."""

PLAIN, EVENTS, JSON = "identity", "text/event-stream", "application/json"

SESSION = "mcp-session-id"
"""The protocol's header. Where a message has it the answer 404 says that there is no such session."""

FORGOTTEN = -20_404
"""The code of our error for that. None of the protocol's, and none that a server has reason to choose."""

COMPRESSED = "the answer is compressed, which was not asked for"


def client_of(server: Remote) -> httpx2.AsyncClient:
    """A client that is open as long as its block lasts."""
    return httpx2.AsyncClient(
        headers={**server.headers, "accept-encoding": PLAIN},
        timeout=httpx2.Timeout(None, connect=CONNECT_S),
        follow_redirects=False,
        transport=Bounded(),
    )


class Bounded(httpx2.AsyncHTTPTransport):
    """Breaks off answers that are too long, and takes none that is compressed.

    Of a stream of events the SDK bounds each event. Says in one way that a session is forgotten, and of other answers
    that are none how they call themselves.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Ask as the base does, and bound what is answered. The end of a session has a deadline, too."""
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
        most = ANSWER_BYTES if kind != EVENTS or request.method == "DELETE" else math.inf  # that is read whole
        response.stream = _Taken(cast(httpx2.AsyncByteStream, response.stream), most)
        if response.has_redirect_location:
            where = response.headers["location"].partition("?")[0]  # behind that there may be a key
            words = f"{_named(response)} to {where}, which is not followed"
            return await _instead(response, HTTPStatus.BAD_GATEWAY, INTERNAL_ERROR, words)
        if response.is_error and not (kind == JSON and await _is_error(response)):
            code = METHOD_NOT_FOUND if status == HTTPStatus.NOT_FOUND else INTERNAL_ERROR
            return await _instead(response, status, code, _named(response))
        return response


async def _instead(response: httpx2.Response, status: int, code: int, message: str) -> httpx2.Response:
    """An error of the protocol in place of an answer."""
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
"""Of a pair."""

_HEX = rb"[0-9a-fA-F]"
_FIRST, _SECOND, _EITHER = (rb"u[dD][%s]%s{2}" % (digits, _HEX) for digits in (rb"89abAB", rb"c-fC-F", rb"89a-fA-F"))
_BEFORE = rb"(?<!\\)((?:\\\\)*)"
"""Backslashes that stand for themselves."""

_PAIRS = re.compile(rb"%s(?:(\\%s\\%s)|\\%s)" % (_BEFORE, _FIRST, _SECOND, _EITHER))
_OPEN = re.compile(rb"%s(\\(?:u%s{0,3}|%s(?:\\(?:u%s{0,3})?)?)?)\Z" % (_BEFORE, _HEX, _FIRST, _HEX))


def whole_pairs(data: bytes) -> tuple[bytes, bytes]:
    r"""JSON with `\ufffd` for every half of a surrogate pair; and its end, if more may belong to an escape there.

    As it comes, since the SDK reads what we hand it at once: it would refuse the answer.
    """
    found = _OPEN.search(data, len(data[:-ESCAPE_BYTES].rstrip(b"\\")))
    cut = found.start(2) if found else len(data)
    whole, held = data[:cut], data[cut:]
    if HALF_PAIR.search(whole):  # in hardly any: the search is quick
        whole = _PAIRS.sub(lambda pair: pair[0] if pair[2] else pair[1] + rb"\ufffd", whole)
    return whole, held
