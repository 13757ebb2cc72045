"""Real servers, on standard streams and by HTTP; and programs that are none."""

import asyncio
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, cast

import pytest
from mcp import Client
from mcp import Tool as Described
from mcp.server import Server as SdkServer
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.types import ListToolsResult, PaginatedRequestParams

from tests.support.stage import until
from tests.tools.http_tools import http_tools
from tokenmill.tools import connection
from tokenmill.tools.catalogue import Catalogue
from tokenmill.tools.connection import ServerFailed, connected, offered, tools_of
from tokenmill.tools.server_file import Program, Remote, Server

PATIENCE_S = 60.0

WEATHER = [sys.executable, "-m", "tests.support.mcp_server"]


def program(*command: str, name: str = "weather", **env: str) -> Program:
    return Program(name, command[0], command[1:], env)


def free_port() -> int:
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def answers(port: int) -> bool:
    with closing(socket.socket()) as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def port() -> Iterator[int]:
    """Where the server of weather listens."""
    port = free_port()
    process = subprocess.Popen([*WEATHER, str(port)])
    try:
        yield port
    finally:
        process.kill()
        process.wait()


async def check(server: Server) -> None:
    """What the server of weather offers."""
    forecast, reset, environment, *_ = await tools_of(server, PATIENCE_S)
    assert (forecast.public_name, reset.public_name) == ("weather__forecast", "weather__station_reset")
    assert forecast.description.startswith("The weather of the next days.")
    assert forecast.parameters["required"] == ["city"]
    assert forecast.parameters["properties"]["city"]["description"] == "Its name."
    assert forecast.output is not None
    assert (forecast.read_only, forecast.idempotent) == (True, True)
    assert (reset.read_only, reset.idempotent, reset.destructive) == (False, False, True)
    assert environment.name == "environment"


async def test_a_program_says_what_it_offers() -> None:
    """Names, schemas and hints."""
    await check(program(*WEATHER))


async def test_a_server_by_http_says_the_same(port: int) -> None:
    """Streamable HTTP."""
    await until(lambda: answers(port), "the server listens")
    await check(Remote("weather", f"http://127.0.0.1:{port}/mcp"))


async def test_a_server_of_the_protocols_authors_is_listed() -> None:
    """`mcp-server-time`, from PyPI."""
    tools = await tools_of(program(sys.executable, "-m", "mcp_server_time", name="time"), PATIENCE_S)
    assert {tool["function"]["name"] for tool in Catalogue(tools).openai()} == {
        "time__get_current_time",
        "time__convert_time",
    }


async def test_a_program_gets_its_own_variables_and_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ours it gets the few that every program needs."""
    monkeypatch.setenv("TOKENMILL_REDIS__URL", "redis://:s3cret@redis")
    async with connected(program(*WEATHER, CITY_KEY="k"), PATIENCE_S) as client:
        told = await client.call_tool("environment", {})
    assert told.structured_content is not None
    names = told.structured_content["result"]
    assert {"CITY_KEY", "PATH"} <= set(names)
    assert "TOKENMILL_REDIS__URL" not in names


@pytest.mark.parametrize(
    ("server", "says"),
    [
        (program("/no/such/program"), "there is no program"),
        (program("/bin/false"), "Connection closed"),
        (program("/bin/echo", "hello"), "Connection closed"),
        (Remote("weather", "http://127.0.0.1:1/mcp"), "All connection attempts failed"),
    ],
)
async def test_what_is_no_server_is_said_so(server: Server, says: str) -> None:
    """With its name, in one sentence, at once."""
    with pytest.raises(ServerFailed, match=rf"^weather \(.*\): .*{says}"):
        await tools_of(server, PATIENCE_S)


async def test_a_server_that_says_nothing_is_given_up() -> None:
    """In time, and its process with it."""
    began = time.monotonic()
    with pytest.raises(ServerFailed, match=r"^weather \(command '/bin/sleep'\): no answer within 0\.5 s"):
        await tools_of(program("/bin/sleep", "61"), 0.5)
    assert time.monotonic() - began < 20


async def test_a_list_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """However patient we are."""
    monkeypatch.setattr(connection, "PAGES", 0)
    with pytest.raises(ServerFailed, match=r"^weather: its list of tools has no end"):
        await tools_of(program(*WEATHER), PATIENCE_S)


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "the server answered 401 Unauthorized"),
        (404, "the server answered 404 Not Found"),
        (307, "the server answered 307 Temporary Redirect to /elsewhere, which is not followed"),
    ],
)
async def test_how_a_server_by_http_refuses_us_is_said(status: int, says: str) -> None:
    """It is the commonest mistake that its entry has no key, or another path; nobody follows it elsewhere with one."""
    async with http_tools() as tools:
        tools.status = status
        with pytest.raises(ServerFailed, match=rf"{re.escape(says)}$"):
            await tools_of(tools.server, PATIENCE_S)
        assert tools.visited == []


async def test_a_server_that_does_not_end_its_session_keeps_nobody_waiting() -> None:
    """Its tools are known by then."""
    async with http_tools() as tools:
        tools.ends.clear()
        async with asyncio.timeout(PATIENCE_S):
            assert [tool.name for tool in await tools_of(tools.server, PATIENCE_S)][:2] == ["note", "slow"]
        assert tools.sessions == {"1"}


class Pages:
    """A server whose list has so many pages, each with a tool of a size."""

    def __init__(self, pages: int, size: int) -> None:
        self._pages = pages
        self._size = size
        self.read_timeout_seconds = PATIENCE_S
        self.asked = 0

    async def list_tools(self, *, cursor: str | None, **_: object) -> ListToolsResult:
        """The next page."""
        self.asked += 1
        described = Described(name=f"t{cursor}", description="x" * self._size, input_schema={"type": "object"})
        return ListToolsResult(tools=[described], next_cursor="more" if self.asked < self._pages else None)


async def test_a_list_is_no_longer_than_a_message_however_many_pages_it_has() -> None:
    """It is kept for as long as the server is connected."""
    few = Pages(2, connection.LIST_BYTES // 3)
    assert len(await offered(cast("Client", few), "weather")) == 2
    many = Pages(50, connection.LIST_BYTES // 3)
    with pytest.raises(ServerFailed, match=r"^weather: its list of tools is longer than \d+ bytes"):
        await offered(cast("Client", many), "weather")
    assert many.asked == 3


async def test_a_list_that_may_be_kept_for_a_day_is_asked_for_all_the_same() -> None:
    """It is how a server is known to live, and to offer what was approved of."""
    names = ["first"]

    async def listed(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[Described(name=name, input_schema={"type": "object"}) for name in names])

    kept = CacheHint(ttl_ms=86_400_000, scope="public")
    async with Client(SdkServer("weather", on_list_tools=listed, cache_hints={"tools/list": kept})) as client:
        assert [tool.name for tool in await offered(client, "weather")] == ["first"]
        names.append("second")
        assert [tool.name for tool in await offered(client, "weather")] == ["first", "second"]
