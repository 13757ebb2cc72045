"""The calls of one partition that wait for a place or for a person, and the decision what becomes of them.

1. A call that is refused, or that nobody waits for any longer, is answered instead of run, whenever this is found.
2. A call that needs an approval is looked at first. Then a person is asked about it, and then it waits for a place like
   any other, but not beyond the time that the approval had.
3. A call that waits, and may have been at its server before, gets no answer that denies this.
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
"""Calls of a partition that people are asked about at once: more than people could answer."""


class Step(msgspec.Struct, frozen=True):
    """Where a call is from now on."""

    call: Call
    stage: Stage
    outcome: Outcome | None = None
    """Outcome, at the last stage."""
    asked: AskedCall | None = None
    """Question about the call, as long as it counts."""


class WaitingCalls:
    """Calls that have arrived, and have not begun."""

    def __init__(self, settings: Tools, orders: Orders, states: CallStates) -> None:
        self._settings = settings
        self._orders = orders
        self._states = states
        self._policy = read_policy(settings.policy)
        self._calls: dict[bytes, Call] = {}
        """Calls by their keys, in the order of arrival."""
        self._oldest = math.inf
        """Time of the oldest one; or an earlier time, if that one waits no longer."""
        self._queues: defaultdict[str, deque[bytes]] = defaultdict(deque)
        """Keys of calls that may run, by their servers; some wait no longer."""
        self._unasked: deque[bytes] = deque()
        """Keys of calls that a person has to be asked about; some wait no longer."""
        self._granted: dict[bytes, AskedCall] = {}
        self._claimed: set[bytes] = set()
        """Keys of calls that the owner before may have made."""
        self.approvals = PendingApprovals(orders)
        """Calls that wait for a person."""

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, key: bytes) -> bool:
        return key in self._calls

    def asks(self, call: Call) -> bool:
        """Whether a call needs an approval."""
        return verdict(self._policy, call.name, call.arguments) == "ask"

    def put(self, call: Call, granted: AskedCall | None = None, *, claimed: bool = False) -> None:
        """Add a call that waits for a place."""
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
        """Take a call that has arrived; return where it is from now on."""
        refused = self._refused(call, now)
        self._states.expect(call, now)
        if refused is not None:
            return Step(call, "done", refused)
        self.put(call)
        return Step(call, "waiting")

    def _refused(self, call: Call, now: int) -> Outcome | None:
        """Return why a call that has arrived is not run."""
        if self._states.calls_beside(call) >= self._settings.calls_per_answer:
            why = f"the answer has more than {self._settings.calls_per_answer} calls (tools.calls_per_answer)"
            return Outcome(error=why, code="limit")
        return self._unwanted(call, now)

    def _unwanted(self, call: Call, now: int) -> Outcome | None:
        """Return why a call may not run, or is no longer waited for. The policy may have changed since it arrived."""
        if self._orders.cancelled(call):
            return CANCELLED
        if verdict(self._policy, call.name, call.arguments) == "deny":
            return DENIED
        if now - call.time <= self._settings.expire_s * 1000:
            return None
        return Outcome(error=f"the call is older than {self._settings.expire_s:g} s (tools.expire_s)", code="expired")

    def ask(self, call: Call, fingerprint: str, now: int) -> Step:
        """Have a call wait for a person, who is asked about it."""
        if (unwanted := self._unwanted(call, now)) is not None:
            return Step(call, "done", unwanted)
        if len(self.approvals) >= ASKING:
            return Step(call, "done", Outcome(error=f"{ASKING} other calls wait for a person", code="limit"))
        until = min(now + self._settings.approve_s * 1000, call.time + self._settings.expire_s * 1000)
        asked = AskedCall(call, fingerprint, int(until))
        self.approvals.put(asked)
        return Step(call, "asking", asked=asked)

    def said(self, now: int) -> Iterator[Step]:
        """Apply what people have said: approved calls wait for a place, others are answered."""
        for call in self.approvals.cancelled():
            yield Step(call, "done", CANCELLED)
        for asked, refused in self.approvals.answered(now):
            if refused is not None:
                yield Step(asked.call, "done", refused)
            else:
                self.put(asked.call, asked)

    @property
    def until(self) -> float:
        """Time at which the first of them is given up, in milliseconds since the epoch."""
        waits = self._oldest + self._settings.expire_s * 1000
        return min(waits, self.approvals.until, *(asked.until for asked in self._granted.values()))

    def given_up(self, now: int) -> Iterator[Step]:
        """Answer calls that nobody waits for any longer: none before `until`, if there are no new orders."""
        for call in list(self._calls.values()):
            unwanted = self._too_late(call, now)
            if unwanted is not None:
                yield Step(call, "done", LOST if call.key in self._claimed else unwanted)
                self._let_go(call.key)
        self._oldest = min((call.time for call in self._calls.values()), default=math.inf)

    def unasked(self) -> Iterator[Call]:
        """Let go of calls that are looked at before a person is asked: they need no place for that."""
        while self._unasked:
            call = self._calls.get(self._unasked.popleft())
            if call is not None:
                self._let_go(call.key)
                yield call

    def beginning(self, now: int, limits: ConcurrencyLimits) -> Iterator[Step]:
        """Begin the calls that find a place: the first ones of each server."""
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
        """Let go of a call, if it waits; return the outcome that it gets."""
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
        """Return why a call that waits may no longer begin."""
        asked = self._granted.get(call.key)
        if asked is not None and now > asked.until:
            return TOO_LATE
        return self._unwanted(call, now)
