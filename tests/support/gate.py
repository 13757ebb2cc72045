"""A barrier in a running program: a task that comes there waits until the test lets it go on. Nothing is replaced."""

import asyncio
from typing import Any

REACHED_S = 20


class Gate:
    """Closed until the test opens it."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._opened = asyncio.Event()

    def before(self, owner: object, method: str) -> None:
        """Stand in front of an asynchronous method of one object."""
        call = getattr(owner, method)

        async def held(*args: Any, **options: Any) -> Any:
            self._reached.set()
            await self._opened.wait()
            return await call(*args, **options)

        setattr(owner, method, held)

    async def reached(self) -> None:
        """Wait until a task stands in front of it. The wait has a deadline that fails the test."""
        await asyncio.wait_for(self._reached.wait(), REACHED_S)

    def open(self) -> None:
        """Let all tasks go on, also those that come later."""
        self._opened.set()
