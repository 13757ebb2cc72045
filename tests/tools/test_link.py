"""A server as a runner has it: used by many calls, connected again when it is gone."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from tests.support.stage import until
from tests.tools.http_tools import http_tools
from tests.tools.linked import ODD, call, linked
from tokenmill.tools.call import Call
from tokenmill.tools.link import CHANGES_S, LOOK_AGAIN_S, Link, Links
from tokenmill.tools.outcome import Outcome, Progress
from tokenmill.tools.server_file import Program


async def test_calls_share_a_connection(tmp_path: Path) -> None:
    """Side by side, from tasks of their own; what does not fit is not sent."""
    ledger = str(tmp_path / "ledger")
    async with linked() as link:
        calls = [call("note", words=f"{number}", ledger=ledger, seconds=0.5) for number in range(11)]
        outcomes = await asyncio.gather(*(link.make(each) for each in calls))
        assert [outcome.error for outcome in outcomes] == [UNSET] * 11
        lines = (tmp_path / "ledger").read_text().splitlines()
        assert all(line.startswith("begin") for line in lines[:11])
        assert (await link.make(call("dance"))).code == "unknown-tool"
        assert (await link.make(call("note", words="x"))).code == "schema-mismatch"


async def test_a_server_that_died_is_started_again() -> None:
    """The call that it died of says so, the next one has a result."""
    async with linked() as link:
        died, *others = await asyncio.gather(
            link.make(call("die")), *(link.make(call("note", words="x", ledger="/dev/null", seconds=60)),)
        )
        assert {outcome.code for outcome in (died, *others)} == {"transport"}
        assert (await link.make(call("forecast", city="Rome"))).error is UNSET


async def test_a_program_that_ends_while_nobody_calls_is_started_again(tmp_path: Path) -> None:
    """It is noticed at once: a call that comes then was never sent, so it waits for the next connection."""
    pid = tmp_path / "pid"
    script = f"echo $$ > {pid}; exec {sys.executable} -m tests.support.mcp_server"
    async with linked(Program("weather", "/bin/sh", ("-c", script))) as link:
        await until(lambda: link.up, "it is connected")
        first = pid.read_text()
        os.kill(int(first), signal.SIGKILL)
        await until(lambda: not link.up, "its end is noticed", LOOK_AGAIN_S / 3)
        assert (await link.make(call("forecast", city="Rome"))).error is UNSET
        assert pid.read_text() != first


async def test_a_result_that_is_none_leaves_the_connection_as_it_is() -> None:
    """Nothing is wrong with it."""
    async with http_tools() as tools, linked(tools.server) as link:
        assert (await link.make(call("promise"))).code == "protocol"
        assert (await link.make(call("note"))).error is UNSET
        assert (tools.begun, tools.noted) == (1, 2)


async def test_an_error_of_a_server_leaves_it_as_it_is() -> None:
    """Whatever its code is: the program goes on, and so do its other calls."""
    refusal = '{"jsonrpc":"2.0","id":NUMBER,"error":{"code":-32000,"message":"quota exceeded"}}'
    async with linked(ODD) as link:
        before = await link.make(call("process"))
        refused = await link.make(call("raw", line=refusal))
        assert (refused.code, refused.error) == ("protocol", "quota exceeded")
        assert (await link.make(call("process"))).result == before.result


@pytest.mark.parametrize("says", [None, {"code": -32600, "message": "Session not found"}])
async def test_a_call_of_a_forgotten_session_is_made_on_the_next(says: dict[str, Any] | None) -> None:
    """It reached no tool, so it is still made once."""
    async with http_tools() as tools, linked(tools.server) as link:
        assert (await link.make(call("note"))).error is UNSET
        tools.says = says
        tools.forget()
        assert (await link.make(call("note"))).error is UNSET
        assert (tools.begun, tools.noted, tools.refused) == (2, 2, 1)


async def test_a_server_that_forgets_each_session_is_given_up() -> None:
    """The call was not made, which is more than that nobody knows."""
    async with http_tools() as tools, linked(tools.server) as link:
        tools.forgetful = True
        outcome = await link.make(call("note"))
        assert outcome.code == "unavailable"
        assert outcome.error == "the call was not made: the server has forgotten the session"
        assert (tools.noted, tools.refused) == (0, 2)


async def test_a_server_whose_list_came_too_late_is_connected_again() -> None:
    """Even if it does not end the first session, and calls hear meanwhile what is wrong."""
    async with http_tools() as tools, linked(tools.server, connect_s=1) as link:
        tools.lists.clear()
        tools.ends.clear()
        why = "the call was not made: weather: no answer within 1 s (tools.connect_s)"

        async def told() -> bool:
            return (await link.make(call("note"))).error == why

        await until(told, "what is wrong", 20)
        tools.lists.set()
        await until(lambda: link.up, "it is connected again", 20)
        assert (await link.make(call("note"))).error is UNSET


async def test_a_link_ends_although_its_server_does_not_end_the_session() -> None:
    """A runner that is stopped waits for all its links."""
    async with http_tools() as tools, asyncio.timeout(20):
        tools.ends.clear()
        async with linked(tools.server) as link:
            assert (await link.make(call("note"))).error is UNSET


async def test_a_broken_connection_to_a_remote_server_holds_nobody_up() -> None:
    """Its other calls go on and have their results, while new ones take the next connection."""
    async with http_tools() as tools, linked(tools.server, connect_s=5) as link:
        await link.make(call("note"))
        slow = asyncio.create_task(link.make(call("slow")))
        await until(lambda: tools.let_go._waiters, "the server has the slow call")
        tools.cut = True
        assert (await link.make(call("note"))).code == "transport"
        tools.cut = False
        assert (await link.make(call("note"))).error is UNSET
        assert not slow.done()
        tools.let_go.set()
        assert (await slow).error is UNSET
        assert tools.begun == 2


async def test_a_server_whose_connections_break_under_calls_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that are lost together are one failure. Its calls hear of it at once; then one tries it for all of them."""
    for name, value in {"link.FIRST_PAUSE_S": 0.01, "admission.FAILURES": 2, "admission.BREAK_S": 1}.items():
        monkeypatch.setattr(f"tokenmill.tools.{name}", value)
    async with http_tools() as tools, linked(tools.server, connect_s=10) as link:

        async def noted(calls: int = 1, *, cut: bool = False) -> list[Outcome]:
            tools.cut = cut
            made = await asyncio.gather(*(link.make(call("note")) for _ in range(calls)))
            return sorted(made, key=lambda outcome: str(outcome.code))

        assert [outcome.code for outcome in await noted(3, cut=True)] == ["transport"] * 3
        slow = asyncio.create_task(link.make(call("slow")))
        await until(lambda: tools.let_go._waiters, "the server has the slow call")
        assert [outcome.code for outcome in await noted()] == [UNSET]  # a new start
        assert [outcome.code for outcome in await noted(cut=True)] == ["transport"]
        tools.cut = False
        tools.let_go.set()
        assert (await slow).error is UNSET  # which says nothing of the connections after its own
        assert [outcome.code for outcome in await noted(cut=True)] == ["transport"]
        async with asyncio.timeout(1):
            [left_alone] = await noted()
        assert left_alone.code == "unavailable"
        assert re.match(r"the call was not made: \w.*; 2 connections in a row broke", str(left_alone.error))
        await until(lambda: link.up, "it may be tried", 20)
        assert [outcome.code for outcome in await noted(3, cut=True)] == ["transport", *["unavailable"] * 2]
        await until(lambda: link.up, "it may be tried again", 20)
        assert [outcome.code for outcome in await noted(3)] == [UNSET] * 3


async def test_a_call_that_is_made_again_has_the_time_that_is_left() -> None:
    """Whoever wants it waits no longer for it."""
    async with http_tools() as tools, linked(tools.server, call_s=5) as link:
        tools.forgetful, tools.slow_s = True, 3  # a second answer would come too late
        outcome = await link.make(call("note"))
        assert (outcome.code, tools.refused) == ("timeout", 2)


async def test_a_server_that_is_not_there_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason; it is tried again and again, with growing pauses."""
    monkeypatch.setattr("tokenmill.tools.link.FIRST_PAUSE_S", 0.01)
    pauses = list[float]()
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(seconds)

    monkeypatch.setattr("tokenmill.tools.link.asyncio.sleep", noted)
    async with linked(Program("weather", "/bin/false"), connect_s=2) as link:
        outcome = await link.make(call("forecast", city="Rome"))
    assert outcome.code == "unavailable"
    assert str(outcome.error).startswith("the call was not made: weather (command '/bin/false'): ")
    tries = [pause for pause in pauses if pause in {0.01 * 2**number for number in range(12)}]
    assert tries[:3] == [0.01, 0.02, 0.04]


async def test_a_connection_that_lasted_makes_pauses_short_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is restarted each night would be waited for longer and longer."""
    monkeypatch.setattr("tokenmill.tools.link.FIRST_PAUSE_S", 0.0123)
    monkeypatch.setattr("tokenmill.tools.link.STEADY_S", -1)
    pauses, sleep = list[float](), asyncio.sleep

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(seconds)

    monkeypatch.setattr("tokenmill.tools.link.asyncio.sleep", noted)
    async with linked(Program("weather", "/bin/false")):
        await until(lambda: pauses.count(0.0123) >= 3, "three tries", 20)


async def test_a_server_that_has_been_gone_for_long_is_waited_for_by_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Calls of it would have the places of others. It is still tried again."""
    async with linked(Program("weather", "/bin/false"), connect_s=1) as link:
        outcomes = [await link.make(call("forecast", city="Rome"))]
        await until(lambda: "next try in" in caplog.text, "a connection that failed", 20)
        async with asyncio.timeout(1):
            outcomes += [await link.make(call("forecast", city="Rome")) for _ in range(20)]
    assert {outcome.code for outcome in outcomes} == {"unavailable"}


async def test_nothing_of_a_server_is_left_when_its_link_ends(tmp_path: Path) -> None:
    """A program of ours ends with us, and so does what it was doing."""
    ledger = tmp_path / "ledger"
    async with linked() as link:
        waiting = asyncio.create_task(link.make(call("wait", seconds=60, ledger=str(ledger))))
        begun = asyncio.create_task(link.make(call("note", words="x", ledger=str(ledger) + "2")))
        await begun
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await until(ledger.exists, "the tool is told that it was cancelled", 30)
    assert ledger.read_text() == "cancelled"


async def test_a_call_is_made_of_the_tool_that_was_approved() -> None:
    """Of no other one, whatever it is called; and what can't be made is found out beforehand."""
    async with linked() as link:
        servers, good = Links([("weather", link)]), call("forecast", city="Rome")
        fingerprint = await servers.look(good)
        assert isinstance(fingerprint, str)
        assert (await servers.make(good, fingerprint, list[Progress]().append)).error is UNSET
        assert (await servers.make(good, "another", list[Progress]().append)).code == "denied"
        for wrong, code in (
            (call("forecast"), "schema-mismatch"),
            (call("dance"), "unknown-tool"),
            (Call("c", "m", 0, 1, "call_1", "nowhere__dance", {}, 5), "unknown-tool"),
        ):
            for found in (await servers.look(wrong), await servers.make(wrong, "", list[Progress]().append)):
                assert isinstance(found, Outcome)
                assert found.code == code


async def test_how_far_a_call_is_can_be_heard() -> None:
    """In the order in which its tool says it."""
    heard = list[Progress]()
    async with linked() as link:
        assert (await link.make(call("count", steps=3), progress=heard.append)).error is UNSET
    assert heard == [Progress(1, 3, "1 done"), Progress(2, 3, "2 done"), Progress(3, 3, "3 done")]


async def test_no_progress_is_beyond_all_numbers() -> None:
    """A record with it could not be read."""
    heard = list[Progress]()
    async with linked(ODD) as link:
        assert (await link.make(call("run"), progress=heard.append)).error is UNSET
    assert heard == [Progress(1, None), Progress(2, 2)]


@pytest.mark.parametrize(
    ("server", "change", "new"), [(None, "learn", "trick"), (ODD, "change", "more")], ids=["newer", "older"]
)
async def test_what_a_server_offers_may_change(server: Program | None, change: str, new: str) -> None:
    """It says so, in either version of the protocol, and is asked again at once."""
    async with linked(server) as link:
        assert (await link.make(call(new))).code == "unknown-tool"
        assert (await link.make(call(change))).error is UNSET
        await until(lambda: _known(link, new), "the new one is known", LOOK_AGAIN_S / 3)
        assert (await link.make(call(new))).error is UNSET


async def _known(link: Link, name: str) -> bool:
    return isinstance(await link.look(call(name)), str)


async def test_a_server_that_does_not_answer_any_more_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found out while nobody calls; while somebody does it may be at work."""
    monkeypatch.setattr("tokenmill.tools.link.LOOK_AGAIN_S", 0.1)
    async with linked(ODD, connect_s=2, call_s=4) as link:
        await until(lambda: link.up, "it is connected")
        hanging = asyncio.create_task(link.make(call("hang")))
        while not hanging.done():  # which is longer than it may take to answer anything else
            assert link.up
            await asyncio.sleep(0.05)
        assert hanging.result().code == "timeout"
        await until(lambda: not link.up, "it is given up")
        await until(lambda: link.up, "it is started anew")
        assert str((await link.make(call("twice"))).result).count("first") == 1


async def test_a_server_that_hangs_is_gone_however_many_call_it() -> None:
    """There is always a call that it may be at work for. It has said nothing for as long as one may take."""
    async with linked(ODD, connect_s=1, call_s=1.5) as link:
        before = await link.make(call("process"))
        ended = asyncio.Event()

        async def calls(wait_s: float) -> None:
            await asyncio.sleep(wait_s)
            while not ended.is_set():
                await link.make(call("hang"))

        callers = [asyncio.create_task(calls(wait_s)) for wait_s in (0, 0.5, 1)]
        await until(lambda: not link.up, "it is given up", 20)
        ended.set()
        await asyncio.gather(*callers)
        await until(lambda: link.up, "it is started anew", 20)
        assert (await link.make(call("process"))).result != before.result


async def test_a_program_that_reads_nothing_is_gone_and_keeps_nobody_waiting() -> None:
    """What is to be said to it can't be written, so neither can be that a call is over, or what it is asked."""
    async with linked(ODD, connect_s=6, call_s=1) as link:
        before = await link.make(call("process"))
        calls = [call("hang"), *(call("process", much="x" * 300_000) for _ in range(5))]
        outcomes = await asyncio.gather(*map(link.make, calls))
        assert {outcome.code for outcome in outcomes} == {"timeout"}
        assert max(outcome.elapsed_ms for outcome in outcomes) < 5_000  # sooner than it is given up
        await until(lambda: not link.up, "it is given up")
        await until(lambda: link.up, "it is started anew", 20)
        assert (await link.make(call("process"))).result != before.result


async def test_a_server_that_answers_others_is_not_gone() -> None:
    """One call that takes too long says nothing about it."""
    async with linked(ODD, connect_s=1, call_s=1.5) as link:
        before = await link.make(call("process"))
        outcome, *_ = await asyncio.gather(link.make(call("late")), link.make(call("late")))
        assert outcome.code == "timeout"
        assert (await link.make(call("process"))).result == before.result


async def test_a_server_at_work_may_leave_its_list_for_later() -> None:
    """It says that the list has changed, and does not answer as long as it works: its call goes on."""
    async with linked(ODD, connect_s=1.5) as link:
        await link.make(call("junk", lines=0))
        done = await link.make(call("busy", seconds=3))
        assert done.error is UNSET
        assert (await link.make(call("junk", lines=0))).error is UNSET


async def test_a_list_that_never_rests_is_asked_for_now_and_then() -> None:
    """However often it changes."""
    async with linked(ODD) as link:
        await link.make(call("restless"))
        await asyncio.sleep(4 * CHANGES_S)
        found = await link.make(call("asked"))
        assert 2 <= int(found.result["content"][0]["text"]) <= 7


async def test_a_list_that_cannot_be_used_ends_no_call() -> None:
    """Nobody would know what the tool did; what the server offered before goes on."""
    async with linked(ODD) as link:
        waits = asyncio.create_task(link.make(call("spoil")))

        async def looked() -> bool:
            found = await link.make(call("asked"))
            return found.error is UNSET and int(found.result["content"][0]["text"]) > 1

        await until(looked, "its list was asked for again", 20)
        await link.make(call("release"))
        assert (await waits).error is UNSET
