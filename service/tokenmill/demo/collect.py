"""Collect the events of many messages while they come."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet

from tokenmill.client import Follower
from tokenmill.errors import FatalError
from tokenmill.events import AnyEvent, Finish, decode_event


class Collector:
    """Reads events in the background, inside its `async with` block."""

    def __init__(self, follower: Follower, watch: Callable[[AnyEvent], None]) -> None:
        self.events: dict[str, list[AnyEvent]] = {}
        """Conversation → its events so far."""
        self.types: Counter[str] = Counter()
        self.latencies_ms: list[float] = []
        """Milliseconds from the input record's timestamp to the event's arrival here; one for each event."""
        self._follower = follower
        self._watch = watch
        self._finished: set[str] = set()
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Collect until cancelled."""
        async for record in self._follower.records():
            event = decode_event(record.value or b"")
            self.latencies_ms.append(time.time() * 1000 - record.timestamp)
            self.types[event.type] += 1
            self.events.setdefault(event.conversation_id, []).append(event)
            self._watch(event)
            if isinstance(event, Finish):
                self._finished.add(event.conversation_id)
                self._news.set()

    async def wait_for(
        self, conversations: AbstractSet[str], deadline_s: float, heard: Callable[[int], None] = lambda _: None
    ) -> None:
        """Wait until these have finished; `heard` is called with how many have. Raises `FatalError`, which names the
        others.
        """
        try:
            async with asyncio.timeout(deadline_s):
                while not conversations <= self._finished:
                    self._news.clear()
                    await self._news.wait()
                    heard(len(conversations & self._finished))
        except TimeoutError as late:
            missing = ", ".join(sorted(conversations - self._finished))
            raise FatalError(f"no finish event within {deadline_s:.0f} s of: {missing}") from late
