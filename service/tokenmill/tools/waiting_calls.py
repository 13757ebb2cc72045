"""The calls of one partition that wait: for a place, or for a person. What becomes of them is decided here.

1. A call that is refused, or that nobody waits for any more, is answered instead of run, at whatever moment that is
   found.
2. A call that somebody has to approve of is looked at first; then it is asked about; then it waits for a place like
   any other, but not beyond the time that the approval had.
3. Where a call that waits may have been at its server before, nothing is said that would deny it.
"""

import math
from collections import defaultdict, deque
from collections.abc import Iterator

import msgspec

from tokenmill.config import Tools
from tokenmill.tools.call import Call, Stage
from tokenmill.tools.call_states import CallStates
from tokenmill.tools.catalogue import server_of
from tokenmill.tools.concurrency_limits import ConcurrencyLimits
from tokenmill.tools.control import Orders
from tokenmill.tools.outcome import CANCELLED, DENIED, LOST, TOO_LATE, Outcome
from tokenmill.tools.pending_approvals import AskedCall, PendingApprovals
from tokenmill.tools.policy import read_policy, verdict

ASKING = 1_000
"""Calls of a partition about which somebody is asked: more is no question for people."""


class Step(msgspec.Struct, frozen=True):
    """Where a call is from now on."""

    call: Call
    stage: Stage
    outcome: Outcome | None = None
    """With the last stage."""
    asked: AskedCall | None = None
    """What was asked, as long as it counts."""


class WaitingCalls:
    """Calls that have come, and have not begun."""

    def __init__(self, settings: Tools, orders: Orders, states: CallStates) -> None:
        self._settings = settings
        self._orders = orders
        self._states = states
        self._policy = read_policy(settings.policy)
        self._calls: dict[bytes, Call] = {}
        """In the order in which they came."""
        self._oldest = math.inf
        """When the oldest of them was made; or earlier, if that one waits no longer."""
        self._queues: defaultdict[str, deque[bytes]] = defaultdict(deque)
        """Those that may run, by their servers; some of them wait no longer."""
        self._unasked: deque[bytes] = deque()
        """Those that somebody has to be asked about, likewise."""
        self._granted: dict[bytes, AskedCall] = {}
        self._claimed: set[bytes] = set()
        """Those that whoever had them before may have made."""
        self.approvals = PendingApprovals(orders)
        """Those that wait for a person."""

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, key: bytes) -> bool:
        return key in self._calls

    def asks(self, call: Call) -> bool:
        """Whether somebody has to approve of it."""
        return verdict(self._policy, call.name, call.arguments) == "ask"

    def put(self, call: Call, granted: AskedCall | None = None, *, claimed: bool = False) -> None:
        """Have a call wait for a place."""
        self._calls[call.key] = call
        self._oldest = min(self._oldest, call.time)
        if granted is None and self.asks(call):
            self._unasked.append(call.key)
        else:
            self._queues[server_of(call.name)].append(call.key)
        if granted is not None:
            self._granted[call.key] = granted
        if claimed:
            self._claimed.add(call.key)

    def arrived(self, call: Call, now: int) -> Step:
        """Take a call that has come; where it is from now on."""
        refused = self._refused(call, now)
        self._states.expect(call, now)
        if refused is not None:
            return Step(call, "done", refused)
        self.put(call)
        return Step(call, "waiting")

    def _refused(self, call: Call, now: int) -> Outcome | None:
        """Why a call that has come is not to be run."""
        if self._states.calls_beside(call) >= self._settings.calls_per_answer:
            why = f"the answer has more than {self._settings.calls_per_answer} calls (tools.calls_per_answer)"
            return Outcome(error=why, code="limit")
        return self._unwanted(call, now)

    def _unwanted(self, call: Call, now: int) -> Outcome | None:
        """Why it may not run, or nobody waits for it any more. The policy may be another than when it came."""
        if self._orders.cancelled(call):
            return CANCELLED
        if verdict(self._policy, call.name, call.arguments) == "deny":
            return DENIED
        if now - call.time <= self._settings.expire_s * 1000:
            return None
        return Outcome(error=f"the call is older than {self._settings.expire_s:g} s (tools.expire_s)", code="expired")

    def ask(self, call: Call, fingerprint: str, now: int) -> Step:
        """Have a call wait for a person, who is to be asked about it."""
        if (unwanted := self._unwanted(call, now)) is not None:
            return Step(call, "done", unwanted)
        if len(self.approvals) >= ASKING:
            return Step(call, "done", Outcome(error=f"{ASKING} other calls wait for a person", code="limit"))
        until = min(now + self._settings.approve_s * 1000, call.time + self._settings.expire_s * 1000)
        asked = AskedCall(call, fingerprint, int(until))
        self.approvals.put(asked)
        return Step(call, "asking", asked=asked)

    def said(self, now: int) -> Iterator[Step]:
        """What people have said: those that are approved of wait for a place, the others are answered."""
        for call in self.approvals.cancelled():
            yield Step(call, "done", CANCELLED)
        for asked, refused in self.approvals.answered(now):
            if refused is not None:
                yield Step(asked.call, "done", refused)
            else:
                self.put(asked.call, asked)

    @property
    def until(self) -> float:
        """When the first of them is given up, in milliseconds since the epoch."""
        waits = self._oldest + self._settings.expire_s * 1000
        return min(waits, self.approvals.until, *(asked.until for asked in self._granted.values()))

    def given_up(self, now: int) -> Iterator[Step]:
        """Those that nobody waits for any more: none before `until`, if there are no new orders."""
        for call in list(self._calls.values()):
            unwanted = self._too_late(call, now)
            if unwanted is not None:
                yield Step(call, "done", LOST if call.key in self._claimed else unwanted)
                self._let_go(call.key)
        self._oldest = min((call.time for call in self._calls.values()), default=math.inf)

    def unasked(self) -> Iterator[Call]:
        """Those that are to be looked at, before somebody is asked: for that they need no place."""
        while self._unasked:
            call = self._calls.get(self._unasked.popleft())
            if call is not None:
                self._let_go(call.key)
                yield call

    def beginning(self, now: int, limits: ConcurrencyLimits) -> Iterator[Step]:
        """Those that find a place: of each server the first ones."""
        for server, queue in list(self._queues.items()):
            while queue:
                call = self._calls.get(queue[0])
                if call is not None:
                    unwanted = self._too_late(call, now)
                    if unwanted is not None:
                        yield Step(call, "done", LOST if call.key in self._claimed else unwanted)
                    elif limits.acquire(server):
                        yield Step(call, "running", asked=self._granted.get(call.key))
                    else:
                        break
                    self._let_go(call.key)
                queue.popleft()
            if not queue:
                del self._queues[server]

    def cancel(self, key: bytes) -> Outcome:
        """Let go of a call, if it waits; returns what is said of it."""
        outcome = LOST if key in self._claimed else CANCELLED
        self.approvals.let_go(key)
        if key in self._calls:
            self._let_go(key)
        return outcome

    def _let_go(self, key: bytes) -> None:
        del self._calls[key]
        self._granted.pop(key, None)
        self._claimed.discard(key)

    def _too_late(self, call: Call, now: int) -> Outcome | None:
        """Why a call that waits is not to begin any more."""
        asked = self._granted.get(call.key)
        if asked is not None and now > asked.until:
            return TOO_LATE
        return self._unwanted(call, now)
