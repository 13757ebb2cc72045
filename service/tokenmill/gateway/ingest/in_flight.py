"""Records on their way to Kafka: a cap on their bytes, the outcome of each, and the refusals for its writer."""

import asyncio
import time
from collections import deque
from typing import NamedTuple

from tokenmill.gateway.problems import TOO_MANY, UNAVAILABLE, Refused

ROOM_AGAIN_S = 1
"""Seconds after which a writer that found no room tries again: each acknowledgement makes room."""

KAFKA_AGAIN_S = 5
"""Seconds after which a writer that found no Kafka tries again: an election takes that long."""

OF_LATE = 128
"""Records that a mean is taken over: tens of milliseconds in a busy process, seconds in an idle one."""


class ByteBudget:
    """A cap on bytes in flight, granted in the order of the requests.

    A request larger than the cap is granted alone.
    """

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.taken = 0
        """Bytes in flight now."""

    def try_take(self, size: int) -> bool:
        """Take bytes if there is room and no request waits."""
        if self._waiting or not self._fits(size):
            return False
        self.taken += size
        return True

    async def take(self, size: int) -> None:
        """Take bytes once there is room and all earlier requests have been granted."""
        if self.try_take(size):
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.give(size)  # it was granted just as its taker left
            elif (size, turn) in self._waiting:  # else it was passed over already
                self._waiting.remove((size, turn))
                self._let_in()
            raise

    def give(self, size: int) -> None:
        """Give bytes back."""
        self.taken -= size
        self._let_in()

    def _fits(self, size: int) -> bool:
        return self.taken == 0 or self.taken + size <= self._cap

    def _let_in(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            size, turn = self._waiting.popleft()
            if not turn.done():
                self.taken += size
                turn.set_result(None)


class WrittenAt(NamedTuple):
    """The place of a record in its topic."""

    partition: int
    offset: int


class InFlightRecord:
    """A record that was sent to Kafka, and its outcome once that is known."""

    __slots__ = ("_outcome", "_patience", "_since", "_waiter", "budget", "size")

    def __init__(self, budget: ByteBudget, size: int, patience: float) -> None:
        self._since = time.monotonic()
        self._outcome: WrittenAt | Refused | None = None
        self._waiter: asyncio.Future[None] | None = None
        """Created when a writer waits: most records are acknowledged before."""
        self._patience = patience
        self.budget = budget
        self.size = size

    def settle(self, outcome: WrittenAt | Refused) -> None:
        """Set its outcome."""
        self._outcome = outcome
        if self._waiter is not None:
            self._waiter.set_result(None)

    @property
    def settled(self) -> bool:
        """Whether its outcome is known."""
        return self._outcome is not None

    @property
    def age_s(self) -> float:
        """Seconds since it was sent."""
        return time.monotonic() - self._since

    async def placed(self) -> WrittenAt:
        """Return its place, once it is acknowledged. Raises `Refused` if it is not, or not in time."""
        if self._outcome is None:
            self._waiter = self._waiter or asyncio.get_running_loop().create_future()
            await asyncio.wait([self._waiter], timeout=max(0.0, self._patience - self.age_s))
        outcome = self._outcome
        if outcome is None:
            raise unavailable(f"Kafka did not acknowledge the record within {self._patience:g} s; it still may")
        if isinstance(outcome, Refused):
            raise outcome
        return outcome


def too_many() -> Refused:
    """Return the refusal for a write that found no room."""
    detail = "more is written than Kafka takes; write again after a pause, and less at the same time"
    return Refused(TOO_MANY, detail, headers={"retry-after": str(ROOM_AGAIN_S)})


def refused(problem: BaseException) -> Refused:
    """Return the refusal for a record that Kafka refused or could not take."""
    return unavailable(f"Kafka refused the record: {type(problem).__name__}")


def unavailable(what: str) -> Refused:
    """Return the refusal for a failure of Kafka, which `what` describes."""
    detail = f"{what}; write it again after a pause: chunks with the same `seq` count once"
    return Refused(UNAVAILABLE, detail, headers={"retry-after": str(KAFKA_AGAIN_S)})
