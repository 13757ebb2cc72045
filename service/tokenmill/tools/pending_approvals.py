"""The calls of one partition that wait for a person. They take no place meanwhile."""

import math
from collections.abc import Iterator

import msgspec

from tokenmill.tools.call import Call
from tokenmill.tools.control import Approval, Orders, approval_of
from tokenmill.tools.outcome import TOO_LATE, Outcome


class AskedCall(msgspec.Struct, frozen=True):
    """A call that a person was asked about."""

    call: Call
    fingerprint: str
    """Fingerprint of the tool as it was then."""
    until: int
    """Time at which it is given up, in milliseconds since the epoch."""


class PendingApprovals:
    """Calls that a person was asked about, and has not answered."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._asked: dict[bytes, tuple[AskedCall, str]] = {}
        """Calls by their keys, each with the approval that it waits for."""

    def __len__(self) -> int:
        return len(self._asked)

    def put(self, asked: AskedCall) -> None:
        """Add a call that a person is asked about."""
        self._asked[asked.call.key] = asked, approval_of(asked.call, asked.fingerprint)

    def let_go(self, key: bytes) -> None:
        """Forget a call, if it waits."""
        self._asked.pop(key, None)

    @property
    def until(self) -> float:
        """Time at which the first call that waits is given up."""
        return min((asked.until for asked, _ in self._asked.values()), default=math.inf)

    def answered(self, now: int) -> Iterator[tuple[AskedCall, Outcome | None]]:
        """Let go of calls that wait no longer. Yield each with why it is not run; None if it may be run."""
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
        """Let go of calls that are no longer wanted, and yield them."""
        for key, (asked, _) in list(self._asked.items()):
            if self._orders.cancelled(asked.call):
                del self._asked[key]
                yield asked.call


def refusal(answer: Approval) -> Outcome:
    """Return what the model is told of a refusal."""
    by, why = f" by {answer.by}" if answer.by else "", f": {answer.why}" if answer.why else ""
    return Outcome(error=f"refused{by}{why}", code="denied")
