"""The end of the events topic without Kafka: a real hub tells of the messages that are watched."""

from collections import Counter

from tests.support.event_log import EventLog, of, spoken
from tokenmill.caller.finishes import Finishes
from tokenmill.gateway.event_log.tail import Tail
from tokenmill.gateway.streams.hub import Hub

PARTITION = 0


class NoTail(Tail):
    """Has one partition, and counts how many need it."""

    def __init__(self) -> None:
        self.pins = Counter[int]()
        self.problems: list[Exception] = []
        """Raised in place of what is asked for, each once."""

    def partition_of(self, key: bytes) -> int:  # noqa: ARG002 -- there is but one
        return PARTITION

    async def pin(self, partition: int) -> None:  # type: ignore[override] # nobody reads the window here
        if self.problems:
            raise self.problems.pop(0)
        self.pins[partition] += 1

    def unpin(self, partition: int) -> None:
        self.pins[partition] -= 1


class Watching:
    """What tells of answers that are over, and how they come to be."""

    def __init__(self) -> None:
        self.tail = NoTail()
        self.hub = Hub()
        self.finishes = Finishes(self.tail, self.hub)

    def end(self, message: str, conversation: str = "c", **more: int) -> None:
        """A message is over."""
        self.hub.dispatch(EventLog(of(conversation, spoken(message, "Hi", **more))).entries())
