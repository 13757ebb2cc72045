"""Calls at their servers, as tasks: what came of each is told, and each place is given back."""

import asyncio
from collections.abc import Callable

import pytest

from tests.support.pipes import soon
from tokenmill.tools.call import Call
from tokenmill.tools.concurrency_limits import ConcurrencyLimits
from tokenmill.tools.control import Cancel, Orders
from tokenmill.tools.outcome import CANCELLED, Outcome, Progress
from tokenmill.tools.running_calls import RunningCalls


class Slow:
    """A server that answers when it is told to."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.begun = list[str]()

    async def look(self, call: Call) -> str | Outcome:
        await self.go.wait()
        if call.id == "bad":
            raise RuntimeError("out of luck")
        return Outcome(code="unknown-tool") if call.id == "unknown" else f"print of {call.id}"

    async def make(self, call: Call, fingerprint: str, progress: Callable[[Progress], None]) -> Outcome:
        self.begun.append(call.id)
        for step in range(1_000):
            progress(Progress(step))
        self.progress = progress
        await self.go.wait()
        if call.id == "bad":
            raise RuntimeError("out of luck")
        return Outcome(result=fingerprint)


def call(id_: str) -> Call:
    return Call("c", id_, 0, 100, id_, "w__note", {}, 200)


def begun(*ids: str, tell: Callable[[], None] = lambda: None) -> tuple[RunningCalls, ConcurrencyLimits, Slow]:
    limits, servers = ConcurrencyLimits(len(ids), len(ids)), Slow()
    underway = RunningCalls(servers, limits, tell)
    for id_ in ids:
        assert limits.acquire("w")
        underway.begin(call(id_), f"{id_}!")
    return underway, limits, servers


async def test_what_came_of_calls_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Of one that failed in a way that nobody expected, too."""
    told = list[int]()
    underway, limits, servers = begun("good", "bad", tell=lambda: told.append(len(underway.over)))
    await soon()
    assert (underway.running, limits.acquire("w")) == (2, False)
    servers.go.set()
    await soon()
    assert "a call of 'w__note'" in caplog.text
    assert list(underway.over) == [
        (call("good"), Outcome(result="good!")),
        (call("bad"), Outcome(error="RuntimeError('out of luck')", code="transport")),
    ]
    assert told == [1, 2]
    assert (underway.running, limits.acquire("w")) == (0, True)


async def test_cancelled_ones_end_others_go_on() -> None:
    """One that has not even begun, as well; it is said once."""
    underway, limits, servers = begun("one", "two")
    orders = Orders()
    orders.take(Cancel(conversation_id="c", message_id="one"), 100)
    underway.cancel(orders)
    underway.cancel(orders)
    await soon()
    assert (list(underway.over), underway._unwanted) == ([(call("one"), CANCELLED)], set())
    assert servers.begun == ["two"]
    assert (underway.running, limits.acquire("w")) == (1, True)
    await underway.close()


async def test_a_call_that_tells_its_server_of_the_end_is_not_interrupted() -> None:
    """However often orders are looked at meanwhile."""

    class Telling(Slow):
        telling, told = asyncio.Event(), False

        async def make(self, call: Call, fingerprint: str, progress: Callable[[Progress], None]) -> Outcome:
            try:
                return await super().make(call, fingerprint, progress)
            finally:
                await self.telling.wait()
                self.told = True

    servers, limits, orders = Telling(), ConcurrencyLimits(1, 1), Orders()
    underway = RunningCalls(servers, limits, lambda: None)
    underway.begin(call("one"), "")
    await soon()
    orders.take(Cancel(conversation_id="c", message_id="one"), 100)
    for _ in range(2):
        underway.cancel(orders)
        await soon()
    assert underway.running == 1
    servers.telling.set()
    await soon()
    assert (servers.told, underway.running) == (True, 0)


async def test_what_is_let_go_of_makes_no_progress() -> None:
    """Whatever its server still reports: the next owner judges it."""
    underway, _, servers = begun("one")
    await soon()
    underway.let_go(call("one").key)
    servers.progress(Progress(1_001))
    assert (underway.progress, underway.calls) == ({}, [])
    await underway.close()


async def test_what_is_closed_leaves_nothing_behind() -> None:
    """No task, no place taken; and nothing is said of what the next owner has to judge."""
    underway, limits, servers = begun("one", "two")
    underway.look(call("three"))
    await underway.close()
    assert (underway.running, underway.looking, list(underway.over)) == (0, 0, [])
    assert limits.acquire("w")
    assert limits.acquire("w")
    assert servers.begun == []


async def test_looks_find_the_tool_or_say_why_not() -> None:
    """Before anybody is asked."""
    told = list[int]()
    underway, _, servers = begun(tell=lambda: told.append(underway.looking))
    for id_ in ("good", "bad", "unknown"):
        underway.look(call(id_))
    assert underway.looking == 3
    servers.go.set()
    await soon()
    assert [(each.id, found) for each, found in underway.looked_at] == [("good", "print of good")]
    assert [(each.id, outcome.code) for each, outcome in underway.over] == [
        ("bad", "transport"),
        ("unknown", "unknown-tool"),
    ]
    assert told == [2, 1, 0]


async def test_how_far_calls_are_is_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of it, once for all of them; of a call that is over nothing more is said."""
    monkeypatch.setattr("tokenmill.tools.running_calls.PROGRESS_S", 0.01)
    told, limits, servers = asyncio.Event(), ConcurrencyLimits(2, 2), Slow()
    underway = RunningCalls(servers, limits, told.set)
    for id_ in ("one", "two"):
        assert limits.acquire("w")
        underway.begin(call(id_), "")
    for again in range(2):
        async with asyncio.timeout(5):
            await told.wait()
        assert {each.id: how_far.done for each, how_far in underway.progress.values()} == (
            {"two": 1_000} if again else {"one": 999, "two": 999}
        )
        underway.progress.clear()
        told.clear()
        servers.progress(Progress(1_000))
    servers.go.set()
    await soon()
    assert underway.progress == {}
    servers.progress(Progress(1_000))
    assert underway.progress == {}


async def test_what_is_written_meanwhile_tells_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that counts to a million beside busy ones would else be told of in each of their transactions."""
    monkeypatch.setattr("tokenmill.tools.running_calls.PROGRESS_S", 60)
    underway, _, servers = begun("one")
    await soon()
    servers.progress(Progress(7))
    assert underway.progress == {}
    underway._tell_progress()
    assert [how_far.done for _, how_far in underway.progress.values()] == [7]
    await underway.close()


async def test_what_is_let_go_of_ends_without_a_word() -> None:
    """Wherever it is; others go on, and its place is given back."""
    underway, limits, servers = begun("one", "two")
    underway.look(call("three"))
    await soon()
    for id_ in ("one", "three", "nobody"):
        underway.let_go(call(id_).key)
    assert underway.calls == [call("two")]
    await soon()
    assert (underway.running, underway.looking, limits.acquire("w")) == (1, 0, True)
    servers.go.set()
    await soon()
    assert [each.id for each, _ in underway.over] == ["two"]
    underway.look(call("four"))
    await soon()
    underway.let_go(call("four").key)
    assert not underway.looked_at
    await underway.close()
    assert not underway._told


@pytest.mark.parametrize("turns", [1, 2])
async def test_what_is_over_when_it_is_let_go_of_says_nothing(turns: int) -> None:
    """Whoever lets go of it writes another outcome. One that was heard of before stays: it is what came of the call."""
    underway, _, servers = begun("one")
    underway.look(call("two"))
    await soon()
    servers.go.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    assert (underway.running, underway.looking) == ((1, 1) if turns == 1 else (0, 0))
    for id_ in ("one", "two"):
        underway.let_go(call(id_).key)
    await soon()
    assert (underway.running, underway.looking, list(underway.looked_at), underway._told) == (0, 0, [], set())
    assert [each.id for each, _ in underway.over] == ([] if turns == 1 else ["one"])
