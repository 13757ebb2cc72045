"""A model server for tests of callers: what it says of each message is the test's to choose."""

import asyncio
from typing import Any

import msgspec

from tests.support.model_servers.__main__ import key_of
from tests.support.model_servers.serving import Generation
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tests.support.model_servers.wire import Body
from tests.support.stage import until


class Model(Vllm):
    """A model server with scripts by the id of the message that is asked for; others are said at once."""

    def __init__(self, scripts: dict[str, Script]) -> None:
        super().__init__(self._said)
        self.scripts = scripts
        self.speaks = asyncio.Event()
        """Cleared: no generation says anything."""
        self.speaks.set()

    def _said(self, body: Body) -> Script:
        script = self.scripts.get(key_of(body), Script("quick"))
        begun = body["messages"][-1]["content"] if body.get("continue_final_message") else ""
        return msgspec.structs.replace(script, text=script.text.removeprefix(begun))

    async def _say(self, *arguments: Any) -> None:
        await self.speaks.wait()
        await super()._say(*arguments)

    def of(self, key: str) -> list[Generation]:
        """All generations of a message."""
        return [generation for generation in self.generations if key_of(generation.body) == key]

    async def says(self, key: str, tokens: int = 3) -> Generation:
        """Wait until it is in the middle of the newest answer of a message."""

        def begun() -> Generation | None:
            found = self.of(key)
            return found[-1] if found and found[-1].tokens_sent >= tokens else None

        generation: Generation = await until(begun, f"the model says {key}")
        return generation
