"""Clicks: one request each, of which a client wants the answer whatever becomes of its connections."""

import asyncio
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Literal, TypeAlias

from tests.chaos.front_client import Connection, Cuts, connection
from tests.chaos.front_said import TOOLS, Json, Said, chat, messages

Kind: TypeAlias = Literal["retry", "key", "whole", "responses", "background", "messages"]

KINDS: Sequence[Kind] = ("retry", "key", "whole", "responses", "background", "messages")

READ_AS: Mapping[Kind, str] = {"retry": "chat", "key": "chat", "whole": "whole", "messages": "messages"}
"""What reads the answer; of the others, `responses`."""

SDK_S, BACK_S = (0.4, 0.9), (0.02, 0.1)
"""How long an SDK waits before it tries again, and a client that has a key or an id."""

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Statuses after which SDKs try again."""


class Again(Exception):
    """It has to be asked again."""


class Over(Exception):
    """The answer ended with an error."""


class Click:
    """One of them, and what came of it."""

    def __init__(self, number: int, kind: Kind, dice: random.Random, model: str) -> None:
        self.number = number
        self.key = f"click-{number}"
        self.kind: Kind = kind
        self.model = model
        self.conversation = f"talk-{number}" if dice.random() < 0.5 else ""
        self.stops_at = dice.uniform(0.2, 3) if kind in ("responses", "background") and dice.random() < 0.15 else 0.0
        """Seconds after which it is stopped, if it is a response."""
        self.message_ids: list[str] = []
        """Of the answers that it was given, in order: one, unless it was asked for again."""
        self.payloads: dict[str, list[list[str]]] = {}
        """By message: what came over each connection."""
        self.named = asyncio.Event()
        """It was told an id."""
        self.statuses: list[int] = []
        self.said: Said | None = None
        self.finish = ""
        self.error = ""
        self.stopped = False
        """It was asked to be stopped, or may have been."""
        self.away_s = 0.0
        """The longest time without a reader."""
        self.tries = 0
        self.began = time.time()
        self.ended = 0.0
        self.dice = dice
        self._left_at = time.monotonic()

    def __str__(self) -> str:
        return f"{self.key}, {self.kind} of {self.model}, which came {self.tries} times, {self.message_ids}"

    @property
    def read_as(self) -> str:
        """What reads the answer."""
        return READ_AS.get(self.kind, "responses")

    def came(self) -> None:
        """A connection is made."""
        self.tries += 1

    def here(self) -> None:
        """Somebody answers: it has a reader."""
        self.away_s = max(self.away_s, time.monotonic() - self._left_at)

    def left(self) -> None:
        """It has no reader any more."""
        self._left_at = time.monotonic()

    def told(self, found: Connection) -> list[str]:
        """Where to write down what comes; raises where nothing comes."""
        self.statuses.append(found.status)
        message_id = found.headers.get("tm-message-id", "")
        if message_id and message_id not in self.message_ids:
            self.message_ids.append(message_id)
            self.named.set()
        payloads: list[str] = []
        self.payloads.setdefault(message_id, []).append(payloads)
        return payloads


class Client:
    """Asks with a body, again and again."""

    path = "/v1/chat/completions"

    def __init__(self, click: Click, ports: Callable[[], Sequence[int]], cuts: Cuts) -> None:
        self.click = click
        self.ports = ports
        self.cuts = cuts
        self.keyless = click.kind in ("retry", "messages") or (click.kind != "key" and click.number % 2 == 0)

    def body(self) -> Json:
        """What is asked."""
        said = [{"role": "user", "content": f"say:{self.click.key}"}]
        return {"model": self.click.model, "messages": said, "tools": TOOLS, "stream": self.click.kind != "whole"}

    async def run(self) -> None:
        """Until the click has its answer, whole or failed."""
        click, stopping = self.click, None
        click.began = time.time()
        click.left()
        if click.stops_at:
            stopping = asyncio.create_task(self.stop(click.stops_at))
        try:
            while click.said is None and not click.error:
                try:
                    await self.come()
                except (Again, OSError, EOFError):
                    await asyncio.sleep(click.dice.uniform(*(SDK_S if self.keyless else BACK_S)))
                except Over as problem:
                    click.error = str(problem)
        finally:
            click.ended = time.time()
            if stopping is not None:
                stopping.cancel()
                await asyncio.gather(stopping, return_exceptions=True)

    def headers(self) -> dict[str, str]:
        """As an SDK has them, or a client with a key."""
        again = {"x-stainless-retry-count": str(self.click.tries - 1)}
        own = again if self.keyless else {"idempotency-key": f"key of {self.click.key}"}
        conversation = {"x-conversation-id": self.click.conversation} if self.click.conversation else {}
        return {"content-type": "application/json", **own, **conversation}

    def asked(
        self, method: str, path: str, body: Json | None = None, headers: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Connection]:
        """A request to any of the fronts."""
        port = self.click.dice.choice(self.ports())
        data = json.dumps(body).encode() if body is not None else b""
        return connection(port, self.cuts, method, path, headers or {}, data)

    async def come(self) -> None:
        """One connection: to the end of the answer, or it raises."""
        self.click.came()
        async with self.asked("POST", self.path, self.body(), self.headers()) as found:
            await self.read(found)

    async def read(self, found: Connection) -> None:
        """Of a connection that is made."""
        payloads = self.click.told(found)
        if found.status != 200:
            self.refused(found.status, (await found.body()).decode())
        self.click.here()
        try:
            async with aclosing(found.blocks()) as blocks:
                async for block in blocks:
                    if block.event != "retry":
                        payloads.append(block.data)
                        if self.ends(block.data):
                            self.whole(payloads)
                            return
        finally:
            self.click.left()
        raise Again

    def refused(self, status: int, body: str) -> None:
        """An answer that is none: it may be asked for again, or not."""
        raise Again(body) if status in AGAIN else Over(f"{status}: {body}")

    def ends(self, payload: str) -> bool:
        """Whether it is the last one."""
        return payload == "[DONE]"

    def whole(self, payloads: list[str]) -> None:
        """All of it has come."""
        failed = next((payload for payload in payloads if payload.startswith('{"error"')), None)
        if failed:
            raise Over(failed)
        ends = [choice for payload in payloads[:-1] for choice in json.loads(payload)["choices"]]
        self.click.finish = next(choice["finish_reason"] for choice in ends if choice["finish_reason"])
        self.click.said = chat(payloads)

    async def stop(self, seconds: float) -> None:
        """Only responses can be stopped by their ids."""


class Whole(Client):
    """Answers in one piece."""

    async def read(self, found: Connection) -> None:
        self.click.here()
        try:
            body = (await found.body()).decode()
        finally:
            self.click.left()
        self.click.told(found).append(body)
        if found.status != 200:
            self.refused(found.status, body)
        self.click.finish = json.loads(body)["choices"][0]["finish_reason"]
        self.click.said = chat([body])


class Messages(Client):
    """Anthropic's."""

    path = "/v1/messages"

    def body(self) -> Json:
        tools = [{"name": each["function"]["name"], "input_schema": each["function"]["parameters"]} for each in TOOLS]  # type: ignore[index] # -- JSON
        return {**super().body(), "max_tokens": 4_000, "tools": tools}

    def ends(self, payload: str) -> bool:
        return json.loads(payload)["type"] in ("message_stop", "error")

    def whole(self, payloads: list[str]) -> None:
        if json.loads(payloads[-1])["type"] == "error":
            raise Over(payloads[-1])
        deltas = (event for event in map(json.loads, payloads) if event["type"] == "message_delta")
        self.click.finish = next(event["delta"]["stop_reason"] for event in deltas)
        self.click.said = messages(payloads)
