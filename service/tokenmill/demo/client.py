"""Requests to the front as any client sends them: JSON there, server-sent events back."""

from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from typing import Any, Self

import msgspec
from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout

from tokenmill.demo.pieces import Piece, Reader, Told
from tokenmill.errors import FatalError

DATA, DONE = b"data:", b"[DONE]"

ANSWER_S = 60.0
"""Seconds for one answer; a quiet machine needs one or two."""


class Client:
    """A client of one front, inside its `async with` block. Raises `FatalError` for anything but an answer."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = ClientSession(timeout=ClientTimeout(total=ANSWER_S))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._session.close()

    async def stream(
        self, path: str, body: Mapping[str, Any], read: Reader, show: Callable[[Piece], None], **headers: str
    ) -> tuple[Told, list[dict[str, Any]]]:
        """Send a request, and read its answer as it comes; return what it adds up to, and its payloads."""
        told, payloads = Told(), list[dict[str, Any]]()
        try:
            async with self._session.post(self._url + path, json={**body, "stream": True}, headers=headers) as response:
                async for payload in _payloads(response):
                    payloads.append(payload)
                    for piece in read(payload):
                        show(piece)
                        told.take(piece)
        except (ClientError, TimeoutError) as problem:
            raise FatalError(f"POST {path}: {problem!r}") from problem
        return told, payloads

    async def events(self, url: str) -> list[dict[str, Any]]:
        """Return the payloads of a stream, to its end."""
        try:
            async with self._session.get(url) as response:
                return [payload async for payload in _payloads(response)]
        except (ClientError, TimeoutError) as problem:
            raise FatalError(f"GET {url}: {problem!r}") from problem

    async def whole(self, path: str, body: Mapping[str, Any], **headers: str) -> dict[str, Any]:
        """Send a request, and return its answer in one piece."""
        try:
            async with self._session.post(self._url + path, json=body, headers=headers) as response:
                await _checked(response)
                return dict(await response.json())
        except (ClientError, TimeoutError) as problem:
            raise FatalError(f"POST {path}: {problem!r}") from problem


async def _payloads(response: ClientResponse) -> AsyncIterator[dict[str, Any]]:
    await _checked(response)
    async for line in response.content:
        data = line.removeprefix(DATA).strip()
        if line.startswith(DATA) and data != DONE:
            yield msgspec.json.decode(data, type=dict[str, Any])


async def _checked(response: ClientResponse) -> None:
    if response.status >= HTTPStatus.BAD_REQUEST:
        raise FatalError(f"{response.method} {response.url.path}: {response.status} {await response.text()}")
