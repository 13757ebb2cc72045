"""A record on its way to Kafka: what became of it, and what its writer is told if it is not written."""

import asyncio
from typing import NamedTuple

from tokenmill.gateway.problems import TOO_MANY, UNAVAILABLE, Refused
from tokenmill.gateway.room import Room

ROOM_AGAIN_S = 1
"""When whoever found no room should come back: room comes with every acknowledgement."""

KAFKA_AGAIN_S = 5
"""When whoever found no Kafka should: an election takes so long."""


class Placed(NamedTuple):
    """Where a record is in its topic."""

    partition: int
    offset: int


class Sent:
    """A record that is on its way."""

    __slots__ = ("_due", "_outcome", "_patience", "lane", "size")

    def __init__(self, lane: Room, size: int, patience: float) -> None:
        loop = asyncio.get_running_loop()
        self._outcome: asyncio.Future[Placed | Refused] = loop.create_future()
        self._patience = patience
        self._due = loop.time() + patience
        self.lane = lane
        self.size = size

    def settle(self, outcome: Placed | Refused) -> None:
        """Say what became of it."""
        self._outcome.set_result(outcome)

    @property
    def settled(self) -> bool:
        """Whether it is known."""
        return self._outcome.done()

    async def placed(self) -> Placed:
        """Where it is, once it is acknowledged. Raises `Refused` if it is not, or not in time."""
        if not self.settled:
            left = max(0.0, self._due - asyncio.get_running_loop().time())
            await asyncio.wait([self._outcome], timeout=left)
        if not self.settled:
            raise unavailable(f"Kafka did not acknowledge the record within {self._patience:g} s; it still may")
        outcome = self._outcome.result()
        if isinstance(outcome, Refused):
            raise outcome
        return outcome


def too_many() -> Refused:
    """There is no room."""
    detail = "Kafka takes less than is written; write again after a pause, and with fewer at once"
    return Refused(TOO_MANY, detail, headers={"retry-after": str(ROOM_AGAIN_S)})


def refused(problem: BaseException) -> Refused:
    """Kafka said no, or can not be asked."""
    return unavailable(f"Kafka refused the record: {type(problem).__name__}")


def unavailable(what: str) -> Refused:
    """Kafka does not do its part now; `what` says which."""
    detail = f"{what}; write it again after a pause: chunks with the same `seq` count once"
    return Refused(UNAVAILABLE, detail, headers={"retry-after": str(KAFKA_AGAIN_S)})
