"""Which calls a server gets that breaks off again and again."""

import asyncio
from typing import Any

import pytest

from tests.support.clock import Clock
from tests.support.stage import until
from tests.tools.http_tools import http_tools
from tests.tools.linked import ODD, call, linked
from tokenmill.tools import admission
from tokenmill.tools.admission import BREAK_S, FAILURES, Admission
from tokenmill.tools.calling import called
from tokenmill.tools.link import LOOK_AGAIN_S, Link
from tokenmill.tools.outcome import Outcome


def broken(clock: Clock) -> Admission:
    """Of a server that has been left alone for long enough to be tried."""
    admits = Admission(clock)
    for _ in range(FAILURES):
        admits.fails()
    assert admits.rest_s == BREAK_S
    clock.now += BREAK_S
    return admits


async def test_a_server_that_works_gets_all_calls() -> None:
    """Also after a few failures, and again after an answer."""
    admits = Admission(Clock(0.0))
    for _ in range(2):
        for _ in range(FAILURES - 1):
            admits.fails()
        with admits.sent(), admits.sent():
            async with asyncio.timeout(1):
                await admits.wait()
        assert (admits.rest_s, admits.failures) == (0, FAILURES - 1)
        admits.works()


async def test_calls_wait_for_the_one_that_tries() -> None:
    """Until it is answered. It waits for none itself."""
    admits = broken(Clock(0.0))
    await admits.wait()
    with admits.sent():
        waiting = [asyncio.create_task(admits.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(each.done() for each in waiting)
        admits.works()
        async with asyncio.timeout(1):
            await asyncio.gather(*waiting, admits.wait())
    assert admits.failures == 0


async def test_a_try_that_breaks_ends_the_wait() -> None:
    """The calls that waited are then told for how long nothing is sent."""
    clock = Clock(0.0)
    admits = broken(clock)
    with admits.sent():
        waiting = asyncio.create_task(admits.wait())
        await asyncio.sleep(0)
        admits.fails()
    async with asyncio.timeout(1):
        await waiting
    assert (admits.failures, admits.rest_s) == (FAILURES + 1, BREAK_S)


async def test_a_try_that_tells_nothing_is_replaced_by_one_of_those_who_wait() -> None:
    """By one only."""
    admits, sent = broken(Clock(0.0)), list[str]()

    async def call(name: str) -> None:
        await admits.wait()
        with admits.sent():
            sent.append(name)
            await asyncio.Event().wait()

    calls = [asyncio.create_task(call(name)) for name in "abc"]
    await until(lambda: sent, "one tries")
    calls[0].cancel()
    await until(lambda: len(sent) > 1, "another one tries")
    await asyncio.sleep(0)
    assert sent == ["a", "b"]
    for each in calls:
        each.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


async def test_a_long_try_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end says nothing of those that went ahead; if they break, the server is left alone at once."""
    monkeypatch.setattr(admission, "TRY_S", 0.05)
    admits = broken(Clock(0.0))
    with admits.sent():
        async with asyncio.timeout(5):
            await admits.wait()
        with admits.sent():
            admits.fails()
        assert (admits.rest_s, admits.failures) == (BREAK_S, FAILURES + 1)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses that a test can wait for."""
    for name, seconds in (("link.FIRST_PAUSE_S", 0.01), ("link.LONGEST_PAUSE_S", 0.05), ("admission.BREAK_S", 2.0)):
        monkeypatch.setattr(f"tokenmill.tools.{name}", seconds)


async def codes(link: Link, *names: str) -> list[Any]:
    """The codes of calls that are made at once, in order."""
    outcomes = await asyncio.gather(*(link.make(call(name)) for name in names))
    return sorted(str(outcome.code) if outcome.error else "result" for outcome in outcomes)


@pytest.mark.usefixtures("soon")
async def test_a_server_that_breaks_off_its_calls_is_left_alone_then_tried_by_one() -> None:
    """A call that is sent there is lost; one that is not has an answer at once, which says until when."""
    async with http_tools() as tools, linked(tools.server) as link:
        tools.cut = True
        for _ in range(FAILURES):
            assert await codes(link, "note", "note") == ["transport"] * 2
        async with asyncio.timeout(1):
            outcome, *_ = await asyncio.gather(*(link.make(call("note")) for _ in range(20)))
        assert outcome.code == "unavailable"
        assert str(outcome.error).endswith("; 5 connections in a row broke under calls, and it is left alone for 2 s")
        assert (link.up, tools.begun, tools.noted) == (False, FAILURES, 2 * FAILURES)
        await until(lambda: link.up, "it is connected again", 20)
        assert await codes(link, *["note"] * 4) == ["transport", *["unavailable"] * 3]
        assert (link.up, tools.begun, tools.noted) == (False, FAILURES + 1, 2 * FAILURES + 1)
        tools.cut = False
        await until(lambda: link.up, "it is connected again", 20)
        assert await codes(link, *["note"] * 4) == ["result"] * 4
        tools.cut = True
        assert await codes(link, *["note"] * 4) == ["transport"] * 4


@pytest.mark.usefixtures("soon")
async def test_a_server_that_forgets_sessions_has_not_broken_off() -> None:
    """It has answered."""
    async with http_tools() as tools, linked(tools.server) as link:
        tools.forgetful = True
        for _ in range(FAILURES):
            assert await codes(link, "note") == ["unavailable"]
        tools.forgetful = False
        assert await codes(link, "note") == ["result"]


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_server_that_its_proxy_does_not_reach_has_broken_off(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is the proxy's: nobody knows what became of the call. A server's own error is an answer."""
    monkeypatch.setattr("tokenmill.tools.admission.FAILURES", 1)
    async with http_tools() as tools, linked(tools.server) as link:
        tools.fails = {"code": -32000, "message": "Bad Gateway"}
        assert await codes(link, "note") == ["protocol"]
        tools.status, tools.detail = status, "<html>no upstream</html>"
        assert await codes(link, "note") == ["transport"]
        assert "; 1 connections in a row broke" in str((await link.make(call("note"))).error)


@pytest.mark.integration
@pytest.mark.parametrize("tool", ["leave", "hang"])
async def test_a_program_that_ends_or_hangs_has_broken_off(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its calls are as lost as those of a connection that breaks."""
    monkeypatch.setattr("tokenmill.tools.admission.FAILURES", 1)
    async with linked(ODD, connect_s=10, call_s=1) as link:
        assert await codes(link, tool) in (["transport"], ["timeout"])
        await until(lambda: not link.up, "its end is noticed", LOOK_AGAIN_S)
        assert "; 1 connections in a row broke" in str((await link.make(call("process"))).error)


@pytest.mark.integration
async def test_a_program_that_ends_behind_its_answer_has_broken_off_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its end is noticed first. It is started again, and called."""
    monkeypatch.setattr("tokenmill.tools.admission.FAILURES", 1)
    async with linked(ODD, connect_s=10) as link:

        async def and_its_end(*arguments: Any) -> Outcome:
            outcome = await called(*arguments)
            await until(lambda: not link.up, "its end is noticed")
            return outcome

        with monkeypatch.context() as patch:
            patch.setattr("tokenmill.tools.link.called", and_its_end)
            for _ in range(2):
                assert await codes(link, "last") == ["result"]
        assert await codes(link, "process") == ["result"]


@pytest.mark.usefixtures("soon")
async def test_who_waits_for_a_try_waits_for_its_next_connection() -> None:
    """A session that was forgotten says nothing of the server."""
    async with http_tools() as tools, linked(tools.server) as link:
        tools.cut = True
        for _ in range(FAILURES):
            assert await codes(link, "note") == ["transport"]
        await until(lambda: link.up, "it is connected again", 20)
        tools.cut = False
        tools.forget()
        assert await codes(link, *["note"] * 4) == ["result"] * 4
