"""Readers who follow through the gateway what was asked of a front, by the conversation and id that it told."""

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from urllib.parse import quote

from tests.chaos.front_clicks import Click
from tests.chaos.front_client import Cuts, connection
from tests.chaos.front_said import Json
from tests.support.stage import LOOK_S

GONE = ("gap", "gone")
"""Events that say that something is missing."""


class GatewayReader:
    """One reader of one message, from its first event to its last, over any number of connections."""

    def __init__(self, click: Click, port: Callable[[], int], cuts: Cuts) -> None:
        self.click = click
        self.events: list[Json] = []
        self.wrong: list[str] = []
        """What it was told that should not have been."""
        self.over = False
        self._port = port
        self._cuts = cuts
        self._last = ""

    async def follow(self) -> None:
        """To the end of the message."""
        await self.click.named.wait()
        message = self.click.message_ids[0]
        path = f"/v1/conversations/{quote(self.click.conversation)}/messages/{quote(message)}/events?wait=true"
        while not self.over:
            try:
                await self._come(path)
            except (OSError, EOFError):
                await asyncio.sleep(LOOK_S)

    async def _come(self, path: str) -> None:
        headers = {"last-event-id": self._last} if self._last else {}
        async with connection(self._port(), self._cuts, "GET", path, headers) as found:
            if found.status != 200:
                if found.status != 503:
                    self.wrong.append(f"{found.status}: {(await found.body()).decode()}")
                    self.over = True
                return
            async with aclosing(found.blocks()) as blocks:
                async for block in blocks:
                    self._take(block.id, block.event, block.data)

    def _take(self, identity: str, event: str, data: str) -> None:
        self._last = identity or self._last
        if event in GONE:
            self.wrong.append(f"{event}: {data}")
        elif event != "retry":
            self.events.append(json.loads(data))
            self.over |= self.events[-1]["type"] == "finish"
