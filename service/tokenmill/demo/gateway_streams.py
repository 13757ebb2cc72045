"""Reads each conversation's stream from the gateway over HTTP while it is written."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Self
from urllib.parse import quote

from aiohttp import ClientError, ClientSession, ClientTimeout

from tokenmill.errors import FatalError
from tokenmill.events import AnyEvent, decode_event
from tokenmill.tasks import cancelled, looked_at

DATA = b"data: "

WHOLE = "from=start&until=finish"
"""A conversation from its first event to the end of its answer. A client that asks before the first event waits for
it."""


class GatewayStreams:
    """Reads a gateway's streams in the background, inside its `async with` block."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = ClientSession(timeout=ClientTimeout(total=None, sock_connect=10))
        self._reading: dict[str, asyncio.Task[list[AnyEvent]]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await cancelled(*self._reading.values())
        await self._session.close()

    async def follow(
        self, conversations: Sequence[str], deadline_s: float, heard: Callable[[int], None] = lambda _: None
    ) -> None:
        """Begin to read these, and wait until all streams are open. Raises `FatalError`.

        `heard` is told how many are open.
        """
        opened = [asyncio.Event() for _ in conversations]
        for name, event in zip(conversations, opened, strict=True):
            self._reading[name] = asyncio.create_task(self._read(name, event))
            self._reading[name].add_done_callback(looked_at)  # `check` raises it, unless another failure comes first
        try:
            async with asyncio.timeout(deadline_s):
                for number, event in enumerate(opened):
                    heard(number)
                    await event.wait()
        except TimeoutError as late:
            raise FatalError(f"the gateway did not open its streams within {deadline_s:.0f} s") from late

    async def _read(self, conversation: str, opened: asyncio.Event) -> list[AnyEvent]:
        try:
            async with self._session.get(events_url(self._url, conversation, WHOLE)) as response:
                opened.set()
                response.raise_for_status()
                lines = [line async for line in response.content]
        except ClientError as problem:
            raise FatalError(f"the gateway broke off the conversation {conversation!r}: {problem}") from problem
        finally:
            opened.set()
        return [decode_event(line.removeprefix(DATA)) for line in lines if line.startswith(DATA)]

    async def check(self, conversation: str, events: Sequence[AnyEvent], deadline_s: float) -> None:
        """Raise `FatalError` unless the gateway served these events, and no others, in this order."""
        try:
            async with asyncio.timeout(deadline_s):
                served = await asyncio.shield(self._reading[conversation])
        except TimeoutError as late:
            raise FatalError(f"the gateway did not serve the end of {conversation!r} in {deadline_s:.0f} s") from late
        if served != list(events):
            told = f"{len(served)} events of {conversation!r}, not the {len(events)} that there are"
            raise FatalError(f"the gateway served {told}, or others")


def events_url(gateway: str, conversation: str, query: str) -> str:
    """Return the gateway's address of a conversation's events."""
    return f"{gateway}/v1/conversations/{quote(conversation, safe='')}/events?{query}"
