"""Calls of a real server: what comes of them, and what goes wrong told apart."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from msgspec import UNSET

from tests.support.stage import until
from tests.support.warm_tools import warm
from tests.tools.http_tools import http_tools
from tokenmill.limits import KIB
from tokenmill.observe.tools_table import Code
from tokenmill.tools.calling import CallOptions, called
from tokenmill.tools.catalogue import Tool
from tokenmill.tools.connection import connected, offered
from tokenmill.tools.content import RESULT_BYTES
from tokenmill.tools.outcome import Outcome
from tokenmill.tools.program import ANSWER_BYTES
from tokenmill.tools.server_file import Program

PATIENCE_S = 60.0


@asynccontextmanager
async def weather() -> AsyncIterator[Client]:
    async with connected(Program("weather", sys.executable, warm()), PATIENCE_S) as client:
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


async def test_a_server_hears_of_the_trace_and_whether_it_had_the_call_before() -> None:
    """In `_meta`, in either version of the protocol."""
    options = CallOptions(PATIENCE_S, "a key", None, (("traceparent", "00-ab-cd-01"), ("tracestate", "a=b")))
    expected = {"tokenmill/idempotencyKey": "a key", "traceparent": "00-ab-cd-01", "tracestate": "a=b"}
    async with weather() as client:
        newer = await called(client, Tool(server="weather", name="whoami"), {}, options)
    assert {name: newer.result["structuredContent"][name] for name in expected} == expected
    async with http_tools() as tools, connected(tools.server, PATIENCE_S) as client:
        assert (await called(client, Tool(server="weather", name="note"), {}, options)).code is UNSET
        assert {name: tools.meta[name] for name in expected} == expected


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


async def test_a_call_without_an_answer_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the server, too, which goes on with other calls. The SDK, whose error would be the server's, waits longer."""
    ledger, given = tmp_path / "ledger", list[float]()
    async with weather() as client:
        call_tool = client.call_tool

        def noted(*asked: Any, **more: Any) -> Any:
            given.append(more["read_timeout_seconds"])
            return call_tool(*asked, **more)

        monkeypatch.setattr(client, "call_tool", noted)
        came = await outcome(client, "wait", 0.5, seconds=600, ledger=str(ledger))
        assert (came.error, came.code) == ("no answer within 0.5 s", "timeout")
        assert given[0] > 0.5
        await until(ledger.exists, "the server was told")
        assert ledger.read_text() == "cancelled"
        assert (await outcome(client, "forecast", city="Rome")).code is UNSET


async def test_a_result_that_is_not_what_the_tool_promised_is_none() -> None:
    """The server has answered, so it is known whose doing it was, and the connection is as good as before."""
    async with http_tools() as tools, connected(tools.server, PATIENCE_S) as client:
        promising = {tool.name: tool for tool in await offered(client, "weather")}
        for tools.forgets_content, says in (
            (False, "does not fit the tool's schema: n: "),
            (True, "that the tool promises is missing"),
        ):
            came = await called(client, promising["promise"], {}, CallOptions(PATIENCE_S))
            assert (came.code, came.result) == ("protocol", UNSET)
            assert f"structured content {says}" in str(came.error)
        assert (await outcome(client, "note")).code is UNSET


async def test_a_promise_costs_no_time_however_it_is_written() -> None:
    """A pattern of a server's holds nobody up, and one that only other engines know is one all the same."""
    async with http_tools() as tools, connected(tools.server, PATIENCE_S) as client:
        promising = {tool.name: tool for tool in await offered(client, "weather")}
        came = await called(client, promising["puzzle"], {}, CallOptions(PATIENCE_S))
        assert came.code == "protocol"
        assert came.elapsed_ms < 5_000
        assert (await called(client, promising["letters"], {}, CallOptions(PATIENCE_S))).code is UNSET


async def test_a_call_of_a_session_that_is_forgotten_was_not_made() -> None:
    """Whatever else the server says of it."""
    async with http_tools() as tools, connected(tools.server, PATIENCE_S) as client:
        tools.forget()
        for says in (None, {"code": -32600, "message": "Session not found"}, {"code": -32001, "message": "x"}):
            tools.says = says
            came = await outcome(client, "note")
            assert (came.code, came.error) == ("unavailable", "the server has forgotten the session")
        assert tools.noted == 0


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"], ids=["lf", "cr", "crlf"])
async def test_a_stream_of_any_length_is_read_however_it_comes(end: str) -> None:
    """Its events have an end each, of which a piece may have a part."""
    said = 'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%s"}}'
    event = (said % ("x" * KIB * KIB) + end).encode(), end.encode()
    async with http_tools() as tools, connected(tools.server, PATIENCE_S) as client:
        tools.streamed = [*event] * (ANSWER_BYTES // (KIB * KIB) + 1)
        assert (await outcome(client, "note")).code is UNSET


@pytest.mark.parametrize("streamed", [None, []], ids=["whole", "streamed"])
async def test_an_answer_with_half_a_pair_is_read_by_http_too(streamed: list[bytes] | None) -> None:
    """As that of a program is."""
    async with http_tools() as tools, connected(tools.server, PATIENCE_S) as client:
        tools.words, tools.streamed = "cut \ud83d", streamed
        came = await outcome(client, "note")
        assert came.result["content"][0]["text"] == "cut \N{REPLACEMENT CHARACTER}"


async def test_an_event_is_no_longer_than_an_answer() -> None:
    """The stream that it is of is given up."""
    async with http_tools() as tools, connected(tools.server, PATIENCE_S) as client:
        tools.streamed = [b"data: " + b"x" * KIB * KIB] * (ANSWER_BYTES // (KIB * KIB) + 1)
        came = await outcome(client, "note")
        assert came.code == "transport"
        assert f"exceeded the {ANSWER_BYTES} byte limit" in str(came.error)


@pytest.mark.parametrize("detail", ["a page", {"detail": "no"}], ids=["text", "json"])
async def test_a_status_is_told_where_nothing_else_is_said(detail: str | dict[str, str]) -> None:
    """An error of the protocol says more."""
    async with http_tools() as tools, connected(tools.server, PATIENCE_S) as client:
        tools.status, tools.detail = 429, detail
        came = await outcome(client, "note")
        assert (came.code, came.error) == ("protocol", "the server answered 429 Too Many Requests")
        tools.detail = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "not on Mondays"}}
        assert (await outcome(client, "note")).error == "not on Mondays"


async def test_an_error_of_a_server_is_no_lost_connection() -> None:
    """The code -32000 is the SDK's for that, and any server's for what it likes."""
    async with http_tools() as tools, connected(tools.server, PATIENCE_S) as client:
        tools.fails = {"code": -32000, "message": "quota exceeded"}
        came = await outcome(client, "note")
        assert (came.code, came.error) == ("protocol", "quota exceeded")
        tools.cut = True
        came = await outcome(client, "note")
        assert (came.code, came.error) == ("transport", "SSE stream ended without a response")
