"""Reports answers that are over: by a stop, by a time-out, or because another caller has taken them over.

It reads the topic `events` as the gateway does, by the same reader where both are in one process.
"""

from collections.abc import Callable

from tokenmill.gateway.event_log.tail import Tail
from tokenmill.gateway.streams.hub import Hub


class Finishes:
    """Watches messages while they are written."""

    def __init__(self, tail: Tail, hub: Hub) -> None:
        self._tail = tail
        self._hub = hub

    async def watch(self, conversation: str, message_id: str, over: Callable[[], None]) -> Callable[[], None]:
        """Call `over` at the end of a message. Returns what ends the watch. Raises `Unavailable`."""
        key, message = conversation.encode(), message_id.encode()
        partition = self._tail.partition_of(key)
        await self._tail.pin(partition)
        self._hub.watch(key, message, over)

        def unwatch() -> None:
            self._hub.unwatch(key, message, over)
            self._tail.unpin(partition)

        return unwatch
