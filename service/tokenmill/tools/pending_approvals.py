"""The calls of one partition that wait for a person. No call keeps a place meanwhile."""

import math
from collections.abc import Iterator

import msgspec

from tokenmill.tools.call import Call
from tokenmill.tools.control import Approval, Orders, approval_of
from tokenmill.tools.outcome import TOO_LATE, Outcome


class Asked(msgspec.Struct, frozen=True):
    """A call, and what was asked about it."""

    call: Call
    fingerprint: str
    """Of the tool as it was then."""
    until: int
    """In milliseconds since the epoch."""


class PendingApprovals:
    """Those that were asked about and not answered."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._asked: dict[bytes, tuple[Asked, str]] = {}
        """Each with the approval that it waits for."""

    def __len__(self) -> int:
        return len(self._asked)

    def put(self, asked: Asked) -> None:
        """Somebody is asked about it from now on."""
        self._asked[asked.call.key] = asked, approval_of(asked.call, asked.fingerprint)

    def let_go(self, key: bytes) -> None:
        """It waits no longer, if it did."""
        self._asked.pop(key, None)

    @property
    def until(self) -> float:
        """When the first of them is given up."""
        return min((asked.until for asked, _ in self._asked.values()), default=math.inf)

    def answered(self, now: int) -> Iterator[tuple[Asked, Outcome | None]]:
        """Those that wait no longer, and why they are not run; None: they may be."""
        for key, (asked, approval) in list(self._asked.items()):
            answer = self._orders.answer(approval)
            if now > asked.until:
                outcome: Outcome | None = TOO_LATE
            elif answer is None:
                continue
            else:
                outcome = None if answer.granted else refusal(answer)
            del self._asked[key]
            yield asked, outcome

    def cancelled(self) -> Iterator[Call]:
        """Those that are not wanted any more."""
        for key, (asked, _) in list(self._asked.items()):
            if self._orders.cancelled(asked.call):
                del self._asked[key]
                yield asked.call


def refusal(answer: Approval) -> Outcome:
    """What the model is told of it."""
    by, why = f" by {answer.by}" if answer.by else "", f": {answer.why}" if answer.why else ""
    return Outcome(error=f"refused{by}{why}", code="denied")
