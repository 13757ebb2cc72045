"""Reports answers whose messages have ended: by a stop, by a time-out, or by another caller that took them over.

It reads the topic `events` as the gateway does, and shares the reader of a front in the same process.
"""

from collections.abc import Callable

from tokenmill.gateway.event_log.tail import Tail
from tokenmill.gateway.streams.hub import Hub


class Finishes:
    """Watches messages for their ends."""

    def __init__(self, tail: Tail, hub: Hub) -> None:
        self._tail = tail
        self._hub = hub

    async def watch(self, conversation: str, message_id: str, over: Callable[[], None]) -> Callable[[], None]:
        """Call `over` at the end of a message. Return a function that ends the watch. Raises `Unavailable`."""
        key, message = conversation.encode(), message_id.encode()
        partition = self._tail.partition_of(key)
        await self._tail.pin(partition)
        self._hub.watch(key, message, over)

        def unwatch() -> None:
            self._hub.unwatch(key, message, over)
            self._tail.unpin(partition)

        return unwatch
