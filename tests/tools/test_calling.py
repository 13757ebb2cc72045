"""Calls of a real server: what comes of them, and what goes wrong told apart."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from msgspec import UNSET

from tests.support.stage import until
from tests.tools.http_tools import http_tools
from tokenmill.tools.calling import CallOptions, called
from tokenmill.tools.catalogue import Tool
from tokenmill.tools.connection import connected, offered
from tokenmill.tools.content import RESULT_BYTES
from tokenmill.tools.outcome import Code, Outcome
from tokenmill.tools.server_file import Program

PATIENCE_S = 60.0

WEATHER = Program("weather", sys.executable, ("-m", "tests.support.mcp_server"))


@asynccontextmanager
async def weather() -> AsyncIterator[Client]:
    async with connected(WEATHER, PATIENCE_S) as client:
        yield client


async def outcome(client: Client, name: str, patience: float = PATIENCE_S, **arguments: Any) -> Outcome:
    return await called(client, Tool(server="weather", name=name), arguments, CallOptions(patience))


async def test_a_call_has_a_result(tmp_path: Path) -> None:
    """In the protocol's shape, and how long it took."""
    async with weather() as client:
        came = await outcome(client, "forecast", city="Rome", days=3)
        words = "Rome: sun for 3 days"
        assert came.result == {"content": [{"type": "text", "text": words}], "structuredContent": {"result": words}}
        waited = await outcome(client, "wait", seconds=0.2, ledger=str(tmp_path / "ledger"))
        assert 200 <= waited.elapsed_ms < PATIENCE_S * 1000


async def test_a_long_result_is_cut() -> None:
    """What a model can't use, and no record holds."""
    async with weather() as client:
        came = await outcome(client, "long_text", characters=RESULT_BYTES * 2)
    assert came.result["truncated"]
    assert len(came.result["content"][0]["text"]) < RESULT_BYTES


async def test_what_goes_wrong_is_told_apart() -> None:
    """By whose doing it was; the last call of these is the end of the server."""
    calls: list[tuple[str, dict[str, Any], Code, str]] = [
        ("fail", {"words": "no such city"}, "tool", "no such city"),
        ("forecast", {}, "tool", "city"),
        ("refuse", {}, "protocol", "not like this"),
        ("refuse", {"code": -32000, "words": "Connection closed"}, "protocol", "Connection closed"),
        ("die", {}, "transport", "Connection closed"),
        ("forecast", {"city": "Rome"}, "transport", "Connection closed"),
    ]
    async with weather() as client:
        for name, arguments, code, says in calls:
            came = await outcome(client, name, **arguments)
            assert (came.code, came.result) == (code, UNSET)
            assert says in str(came.error)


async def test_a_call_without_an_answer_is_cancelled(tmp_path: Path) -> None:
    """At the server, too, which goes on with other calls."""
    ledger = tmp_path / "ledger"
    async with weather() as client:
        came = await outcome(client, "wait", 0.5, seconds=600, ledger=str(ledger))
        assert (came.error, came.code) == ("no answer within 0.5 s", "timeout")
        await until(ledger.exists, "the server was told")
        assert ledger.read_text() == "cancelled"
        assert (await outcome(client, "forecast", city="Rome")).code is UNSET


async def test_a_result_that_is_not_what_the_tool_promised_is_none() -> None:
    """The server has answered, so it is known whose doing it was, and the connection is as good as before."""
    async with http_tools() as tools, connected(tools.server, PATIENCE_S) as client:
        await offered(client, "weather")
        came = await outcome(client, "promise")
        assert (came.code, came.result) == ("protocol", UNSET)
        assert "structured content" in str(came.error)
        assert (await outcome(client, "note")).code is UNSET


async def test_a_call_of_a_session_that_is_forgotten_was_not_made() -> None:
    """Whatever else the server says of it."""
    async with http_tools() as tools, connected(tools.server, PATIENCE_S) as client:
        tools.forget()
        for says in (None, {"code": -32600, "message": "Session not found"}, {"code": -32001, "message": "x"}):
            tools.says = says
            came = await outcome(client, "note")
            assert (came.code, came.error) == ("unavailable", "the server has forgotten the session")
        assert tools.noted == 0


async def test_an_error_of_a_server_is_no_lost_connection() -> None:
    """The code -32000 is the SDK's for that, and any server's for what it likes."""
    async with http_tools() as tools, connected(tools.server, PATIENCE_S) as client:
        tools.fails = {"code": -32000, "message": "quota exceeded"}
        came = await outcome(client, "note")
        assert (came.code, came.error) == ("protocol", "quota exceeded")
        tools.cut = True
        came = await outcome(client, "note")
        assert (came.code, came.error) == ("transport", "SSE stream ended without a response")
