"""Clicks whose answers have an id by which they are found again: responses, streamed and in the background."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence

from tests.chaos.front_clicks import Click, Client, Kind, Messages, Over, Whole
from tests.chaos.front_client import Connection, Cuts
from tests.chaos.front_said import TOOLS, Json, Said, response, responses
from tests.support.stage import until

POLL_S = 0.2

CANCEL_S = 60.0

ENDS = {"completed", "incomplete", "failed", "cancelled"}


class Responses(Client):
    """A stream of events with numbers, which is gone on with behind the last one."""

    path = "/v1/responses"

    def __init__(self, click: Click, ports: Callable[[], Sequence[int]], cuts: Cuts) -> None:
        super().__init__(click, ports, cuts)
        self.events: list[str] = []
        """Of all connections."""
        self.id = ""

    def body(self) -> Json:
        tools = [{"type": "function", **each["function"]} for each in TOOLS]  # type: ignore[dict-item] # -- JSON
        background = {"background": True, "stream": False} if self.click.kind == "background" else {"stream": True}
        return {"model": self.click.model, "input": f"say:{self.click.key}", "tools": tools, **background}

    async def come(self) -> None:
        if not self.id:
            await super().come()
            return
        self.click.came()
        self.keyless = False
        behind = json.loads(self.events[-1])["sequence_number"]
        path = f"{self.path}/{self.id}?stream=true&starting_after={behind}"
        async with self.asked("GET", path) as found:
            await self.read(found)

    def ends(self, payload: str) -> bool:
        event = json.loads(payload)
        self.events.append(payload)
        self.id = self.id or event.get("response", {}).get("id", "")
        return event["type"].removeprefix("response.") in {*ENDS, "error"}

    def whole(self, payloads: list[str]) -> None:
        end = json.loads(payloads[-1])
        numbers = [json.loads(event)["sequence_number"] for event in self.events]
        if numbers != list(range(len(numbers))):
            raise Over(f"wrong numbers of events: {numbers}")
        self.settle(end["response"], responses(self.events))

    def settle(self, found: Json, said: Said) -> None:
        """It is over."""
        if found["status"] == "failed":
            raise Over(json.dumps(found["error"]))
        self.click.finish = found["status"]
        if said != response(found):
            raise Over(f"its events say {said}, and its last object {response(found)}")
        self.click.said = said

    async def stop(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.click.named.wait()
        self.click.stopped = True
        await until(self._cancelled, "it is cancelled", CANCEL_S)

    async def _cancelled(self) -> bool:
        path = f"{self.path}/{self.click.message_ids[0]}/cancel"
        try:
            async with self.asked("POST", path, {}) as found:
                return found.status == 200
        except OSError:
            return False


class Background(Responses):
    """A response that is asked for again and again until it is over."""

    async def come(self) -> None:
        if not self.id:
            await super().come()
            return
        self.click.came()
        async with self.asked("GET", f"{self.path}/{self.id}") as found:
            await self.read(found)

    async def read(self, found: Connection) -> None:
        self.click.here()
        body = (await found.body()).decode()
        self.click.told(found)
        if found.status != 200:
            self.refused(found.status, body)
        response_ = json.loads(body)
        self.id = response_["id"]
        if response_["status"] in ENDS:
            self.settle(response_, response(response_))
            return
        self.keyless = False
        await asyncio.sleep(POLL_S)


CLIENTS: Mapping[Kind, type[Client]] = {
    "retry": Client,
    "key": Client,
    "whole": Whole,
    "responses": Responses,
    "background": Background,
    "messages": Messages,
}


def client_of(click: Click, ports: Callable[[], Sequence[int]], cuts: Cuts) -> Client:
    """Who gets the answer."""
    return CLIENTS[click.kind](click, ports, cuts)
