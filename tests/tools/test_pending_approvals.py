"""Calls that wait for a person: until there is a word, or too late."""

import math

from tokenmill.tools.call import Call
from tokenmill.tools.control import Approval, Cancel, Orders, approval_of
from tokenmill.tools.outcome import Outcome
from tokenmill.tools.pending_approvals import AskedCall, PendingApprovals, refusal


def call(id_: str) -> Call:
    return Call("c", id_, 0, 100, id_, "files__write", {}, 200)


def asking(orders: Orders, **until: int) -> PendingApprovals:
    found = PendingApprovals(orders)
    for id_, time in until.items():
        found.put(AskedCall(call(id_), "f", time))
    return found


def told(found: PendingApprovals, now: int) -> dict[str, str]:
    """What became of those that wait no longer."""
    return {
        asked.call.id: str(outcome.error) if outcome is not None else "granted"
        for asked, outcome in found.answered(now)
    }


def test_a_word_is_for_the_call_that_it_names() -> None:
    """The others wait on; one that comes at the last moment counts, and one that comes later does not."""
    orders = Orders()
    found = asking(orders, yes=50, no=50, late=49, open=60)
    assert told(found, 0) == {}
    for id_, granted in (("yes", True), ("no", False), ("late", True)):
        orders.take(Approval(approval=approval_of(call(id_), "f"), granted=granted), 1)
    orders.take(Approval(approval=approval_of(call("open"), "another tool"), granted=True), 1)
    assert found.until == 49
    assert told(found, 50) == {"yes": "granted", "no": "refused", "late": "nobody approved of the call in time"}
    assert (len(found), found.until) == (1, 60)
    assert told(found, 61) == {"open": "nobody approved of the call in time"}
    assert found.until == math.inf


def test_who_refuses_may_say_why() -> None:
    """The model reads it."""
    orders = Orders()
    found = asking(orders, a=50, b=50)
    orders.take(Approval(approval=approval_of(call("a"), "f"), granted=False, by="Ada"), 1)
    orders.take(Approval(approval=approval_of(call("b"), "f"), granted=False, by="Ada", why="too dear"), 1)
    assert told(found, 0) == {"a": "refused by Ada", "b": "refused by Ada: too dear"}
    assert refusal(Approval(approval="x", granted=False)) == Outcome(error="refused", code="denied")


def test_nobody_is_asked_about_what_is_cancelled() -> None:
    """It waits no longer, word or not."""
    orders = Orders()
    found = asking(orders, a=50, b=50)
    orders.take(Cancel(conversation_id="c", message_id="a"), 100)
    assert [each.id for each in found.cancelled()] == ["a"]
    assert len(found) == 1


def test_who_is_let_go_of_is_asked_about_no_more() -> None:
    """Whether anybody was asked or not."""
    asking = PendingApprovals(Orders())
    asking.put(AskedCall(Call("c", "m", 0, 1, "a", "w__note", {}, 2), "f", 99))
    for id_ in ("b", "a"):
        asking.let_go(Call("c", "m", 0, 1, id_, "w__note", {}, 2).key)
    assert len(asking) == 0
