"""What becomes of calls that have come and have not begun."""

import math
from typing import Any

import pytest

from tokenmill.config import Tools
from tokenmill.tools import waiting_calls as module
from tokenmill.tools.call import Call
from tokenmill.tools.call_states import CallStates
from tokenmill.tools.concurrency_limits import ConcurrencyLimits
from tokenmill.tools.control import Approval, Cancel, Orders, approval_of
from tokenmill.tools.pending_approvals import AskedCall
from tokenmill.tools.waiting_calls import Step, WaitingCalls


def call(id_: str = "a", name: str = "w__note", time: int = 0) -> Call:
    return Call("c", "m", 0, 100, id_, name, {}, time)


def waiting(orders: Orders | None = None, states: CallStates | None = None, **settings: Any) -> WaitingCalls:
    return WaitingCalls(Tools(**settings), orders or Orders(), states or CallStates(1_000))


def steps(
    found: WaitingCalls, now: int, limits: ConcurrencyLimits | None = None, *, paused: bool = False
) -> list[tuple[str, str]]:
    """What begins, and what is answered instead: the call, and its stage or the code."""
    limits = limits or ConcurrencyLimits(9, 9)
    begun = [] if paused else list(found.beginning(now, limits))
    return [_told(step) for step in (*begun, *found.given_up(now))]


def _told(step: Step) -> tuple[str, str]:
    assert step.outcome is None or step.outcome.error
    return step.call.id, str(step.outcome.code) if step.outcome else step.stage


def test_places_decide_who_begins() -> None:
    """The others wait, in order, and begin later."""
    found, limits = waiting(), ConcurrencyLimits(2, 1)
    arrived = [found.arrived(call(id_, name), 0) for id_, name in (("a", "w__x"), ("b", "w__y"), ("c", "v__z"))]
    assert [step.stage for step in arrived] == ["waiting"] * 3
    assert steps(found, 0, limits, paused=True) == []
    assert steps(found, 0, limits) == [("a", "running"), ("c", "running")]
    assert (len(found), call("b").key in found) == (1, True)
    limits.release("w")
    assert steps(found, 0, limits) == [("b", "running")]
    assert steps(found, 0) == []


def test_who_has_to_be_asked_about_waits_for_no_place() -> None:
    """Neither does it stand in the way of others; once it was approved of, it is one of them."""
    found, limits = waiting(policy=("ask w__risky",)), ConcurrencyLimits(1, 1)
    for id_, name in (("a", "w__x"), ("b", "w__risky"), ("c", "w__y")):
        found.arrived(call(id_, name), 0)
    assert steps(found, 0, limits) == [("a", "running")]
    assert [each.id for each in found.unasked()] == ["b"]
    assert [each.id for each in found.unasked()] == []
    assert len(found) == 1
    found.put(call("b", "w__risky"), asked := AskedCall(call("b", "w__risky"), "f", 99))
    assert list(found.unasked()) == []
    begun = {step.call.id: step.asked for step in found.beginning(0, ConcurrencyLimits(9, 9))}
    assert begun == {"c": None, "b": asked}  # only the tool that was approved of may be called
    assert not found._queues  # models invent names of servers


def test_what_is_refused_is_answered_at_once() -> None:
    """By the policy, for its age, since it was cancelled, or as one too many of its answer."""
    orders, states = Orders(), CallStates(1_000)
    found = waiting(orders, states, policy=("deny w__never",), expire_s=1, calls_per_answer=1)
    assert _told(found.arrived(call("a", "w__never"), 0)) == ("a", "denied")
    assert _told(found.arrived(call("a"), 0)) == ("a", "limit")
    found = waiting(orders, policy=("deny w__never",), expire_s=1, calls_per_answer=2)
    assert _told(found.arrived(call("a"), 1_001)) == ("a", "expired")
    assert _told(found.arrived(call("b"), 1_000)) == ("b", "waiting")
    assert _told(found.arrived(call("c"), 1_000)) == ("c", "limit")
    orders.take(Cancel(conversation_id="c"), 100)
    assert _told(waiting(orders).arrived(call("a"), 0)) == ("a", "cancelled")


def test_who_waits_too_long_does_not_begin() -> None:
    """Even while nothing begins; one that was approved of has no longer than that."""
    orders = Orders()
    found = waiting(orders, expire_s=1)
    found.arrived(call("old"), 0)
    found.put(call("approved", time=900), AskedCall(call("approved", time=900), "f", 1_200))
    found.arrived(call("new", time=900), 900)
    assert steps(found, 1_001, paused=True) == [("old", "expired")]
    assert steps(found, 1_201, paused=True) == [("approved", "expired")]
    orders.take(Cancel(conversation_id="c", message_id="m"), 100)
    assert steps(found, 1_300, paused=True) == [("new", "cancelled")]


def test_what_is_denied_meanwhile_does_not_begin() -> None:
    """A runner that takes over has the policy of today, also for calls that were asked about."""
    found = waiting(policy=("deny w__*",))
    found.put(call("a"))
    found.put(call("b"), AskedCall(call("b"), "f", 99))
    assert steps(found, 0) == [("a", "denied"), ("b", "denied")]


def test_of_what_may_have_been_made_nothing_is_denied() -> None:
    """A call that its owner had claimed, and that comes too late to be made again."""
    found = waiting(expire_s=1)
    for paused in (False, True):
        found.put(call(), claimed=True)
        assert steps(found, 5_000, paused=paused) == [("a", "in-doubt")]


def test_the_policy_says_about_whom_somebody_is_asked() -> None:
    """Whoever has a call that may have been made has to know."""
    found = waiting(policy=("ask w__risky",))
    assert [found.asks(call(name=name)) for name in ("w__risky", "w__note")] == [True, False]


def test_people_are_asked_a_bounded_number_of_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is more is answered."""
    monkeypatch.setattr(module, "ASKING", 1)
    found = waiting(approve_s=3)
    step = found.ask(call("a"), "f", 10)
    assert (step.stage, step.asked) == ("asking", AskedCall(call("a"), "f", 3_010))
    assert _told(found.ask(call("b"), "f", 10)) == ("b", "limit")
    assert [_told(step) for step in found.said(3_011)] == [("a", "expired")]


def test_what_people_say_is_done() -> None:
    """What they approve of begins, and what they cancel is answered."""
    orders = Orders()
    found = waiting(orders, policy=("ask w__*",))
    found.ask(call("a"), "f", 10)
    orders.take(Approval(approval=approval_of(call("a"), "f"), granted=True), 1)
    assert (list(found.said(20)), steps(found, 20)) == ([], [("a", "running")])
    found.ask(call("b"), "f", 20)
    orders.take(Cancel(conversation_id="c"), 100)
    assert [_told(step) for step in found.said(20)] == [("b", "cancelled")]


def test_nobody_is_asked_for_longer_than_the_call_may_wait() -> None:
    """An approval that is given in time is worth something."""
    found = waiting(policy=("ask w__risky",), approve_s=3, expire_s=3)
    assert found.ask(call(name="w__risky", time=100), "f", 1_100).asked == AskedCall(
        call(name="w__risky", time=100), "f", 3_100
    )


def test_who_is_cancelled_waits_no_longer() -> None:
    """For a place or for a person; of what may have been made, nothing is denied."""
    found = waiting()
    found.put(call("a"))
    found.put(call("b"), claimed=True)
    found.approvals.put(AskedCall(call("c"), "f", 99))
    codes = [found.cancel(call(id_).key).code for id_ in ("a", "b", "c", "elsewhere")]
    assert codes == ["cancelled", "in-doubt", "cancelled", "cancelled"]
    assert (len(found), len(found.approvals), steps(found, 0)) == (0, 0, [])


def test_nobody_is_asked_about_a_call_that_is_not_wanted_any_more() -> None:
    """Neither before it is looked at, nor after that."""
    orders = Orders()
    found = waiting(orders, policy=("ask w__risky", "deny w__never"), expire_s=1)
    found.put(call("a", "w__risky"))
    found.cancel(call("a").key)
    assert list(found.unasked()) == []
    assert _told(found.ask(call("b", "w__never"), "f", 0)) == ("b", "denied")
    assert _told(found.ask(call("b", "w__risky"), "f", 1_001)) == ("b", "expired")
    orders.take(Cancel(conversation_id="c"), 100)
    assert _told(found.ask(call("b", "w__risky"), "f", 0)) == ("b", "cancelled")
    assert len(found.approvals) == 0


def test_the_oldest_is_given_up_first_whenever_it_came() -> None:
    """Records have their own times."""
    found = waiting(expire_s=1)
    found.put(call("young", time=900))
    found.put(call("younger", time=950))
    found.put(call("old", time=100))
    assert found.until == 1_100
    assert steps(found, 1_101, paused=True) == [("old", "expired")]
    assert found.until == 1_900


def test_what_was_approved_of_is_given_up_when_its_approval_ends() -> None:
    """The queue looks at that moment; one that has begun is nobody's reason to look any more."""
    found = waiting(expire_s=1)
    found.put(call("a", time=900), AskedCall(call("a", time=900), "f", 1_200))
    assert found.until == 1_200
    assert steps(found, 1_000) == [("a", "running")]
    assert found.until == math.inf
