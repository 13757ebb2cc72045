"""What is done to the processes of a run with fronts, at random moments."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence

from tests.chaos.front_stage import FrontStage, Slot, Strike

FAULTS: Sequence[tuple[str, Strike, int]] = (
    ("front", "kill", 2),
    ("front", "terminate", 1),
    ("caller", "kill", 2),
    ("caller", "terminate", 1),
    ("caller", "freeze", 1),
    ("worker", "kill", 1),
    ("gateway", "kill", 1),
    ("broker", "kill", 1),
)
"""To whom, what, and how often among all."""

ALL = sum(times for _, _, times in FAULTS)
"""As many bring every kind."""

KINDS_OF_FAULTS = {f"{whom} {how}" for whom, how, _ in FAULTS}
"""As they are counted."""

PAUSE_S = (0.3, 1.5)


AT_ONCE = 2
"""Faults that are not over: a process that was killed takes seconds to be there again."""


class Faults:
    """One soon after the other, as long as answers are under way."""

    def __init__(self, stage: FrontStage, dice: random.Random, busy: Callable[[], bool], brokers: int) -> None:
        """`brokers`: how often the broker may be killed."""
        self._stage = stage
        self._dice = dice
        self._busy = busy
        self._brokers = brokers
        self._left: list[tuple[str, Strike]] = []
        self.done: Counter[str] = Counter()
        self._room = asyncio.Semaphore(AT_ONCE)

    async def go_on(self, enough: asyncio.Event) -> None:
        """Until it is enough. The last ones are waited for, as they start what has to be there."""
        async with asyncio.TaskGroup() as under_way:
            while not enough.is_set():
                try:
                    async with asyncio.timeout(self._dice.uniform(*PAUSE_S)):
                        await enough.wait()
                except TimeoutError:
                    if self._busy():
                        await self._room.acquire()
                        under_way.create_task(self._one())

    async def _one(self) -> None:
        try:
            await self._drawn()
        finally:
            self._room.release()

    async def _drawn(self) -> None:
        if not self._left:  # every kind comes before any comes again
            self._left = [(whom, how) for whom, how, times in FAULTS for _ in range(times)]
            self._dice.shuffle(self._left)
        whom, how = self._left.pop()
        if whom == "broker" and self.done["broker kill"] >= self._brokers:
            return
        await self._dice.choice(self._slots(whom)).strike(how)
        self.done[f"{whom} {how}"] += 1

    def _slots(self, whom: str) -> Sequence[Slot]:
        stage = self._stage
        return {
            "front": stage.fronts,
            "caller": stage.callers,
            "worker": stage.workers,
            "gateway": stage.gateways,
            "broker": [stage.broker],
        }[whom]
