"""The connection to one server, by the official SDK, with one kind of error.

1. Any failure of a server, or of the way to it, is `ServerFailed`: the SDK raises errors of three families, and in
   groups.
2. Nothing waits without a deadline.
3. The same block connects and disconnects, in one task: the SDK's cancel scopes require that.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from mcp import Client, MCPError
from mcp import Tool as Described
from mcp.client import Transport
from mcp.client.session import MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ListToolsResult, ToolListChangedNotification

from tokenmill.errors import Unavailable
from tokenmill.tools.answering import answering
from tokenmill.tools.catalogue import Tool
from tokenmill.tools.content import plain
from tokenmill.tools.program import ANSWER_BYTES, spoken_to
from tokenmill.tools.remote import client_of
from tokenmill.tools.server_file import Program, Server

PAGES = 100
"""Pages of a list of tools that are read: a server may never end its list."""


LIST_BYTES = ANSWER_BYTES
"""Longest list, all pages together. It is kept for each server, and no model is shown more."""


class ServerFailed(Unavailable):
    """A server can't be reached, or breaks the protocol."""


@asynccontextmanager
async def connected(
    server: Server,
    seconds: float,
    changed: Callable[[], None] = lambda: None,
    ended: Callable[[], None] = lambda: None,
) -> AsyncIterator[Client]:
    """Connect to a server for the duration of the block. Raises `ServerFailed`.

    `seconds` bounds the time until the first answer, and each request without a bound of its own. `changed` is called
    when a server of the older protocol reports that its tools have changed, `ended` when a program's output has ended.
    """

    async def heard(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed()

    failed: Exception | None = None
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(seconds):
                client = await stack.enter_async_context(await _client(server, stack, seconds, heard, ended))
                client.session.validate_tool_result = _unchecked  # type: ignore[method-assign] # see there
        except TimeoutError as problem:
            raise ServerFailed(f"{server}: no answer within {seconds:g} s (tools.connect_s)") from problem
        except Exception as problem:
            raise ServerFailed(f"{server}: {told(problem)}") from problem
        try:
            yield client
        except Exception as problem:  # noqa: BLE001 -- raised below: the SDK would put it into a group
            failed = problem
    if failed is not None:
        raise failed


async def _client(
    server: Server, stack: AsyncExitStack, seconds: float, heard: MessageHandlerFnT, ended: Callable[[], None]
) -> Client:
    if isinstance(server, Program):
        transport: Transport = spoken_to(server, ended)
    else:
        http = await stack.enter_async_context(client_of(server))
        transport = streamable_http_client(server.url, http_client=http, max_sse_event_size=ANSWER_BYTES)
    return Client(answering(transport), read_timeout_seconds=seconds, message_handler=heard)


async def _unchecked(name: str, result: object) -> None:
    """Replaces the SDK's check of a result, which has no bound: a server's pattern could block the process.

    `Tool.unkept` checks instead.
    """


async def hear_changes(client: Client, changed: Callable[[], None]) -> None:
    """Call `changed` whenever a server of the newer protocol reports that its tools have changed."""
    with suppress(Exception):  # a server that can't report it is asked now and then, like all others
        async with client.listen(tools_list_changed=True) as said:
            changed()  # they may have, before we listened
            async for _ in said:
                changed()


async def tools_of(server: Server, seconds: float) -> list[Tool]:
    """Return the tools of a server. Raises `ServerFailed`."""
    async with connected(server, seconds) as client:
        return await offered(client, server.name)


async def offered(client: Client, name: str) -> list[Tool]:
    """Return the tools of a connected server; `name` is ours for it. Raises `ServerFailed`."""
    found, size, cursor = list[Tool](), 0, None
    for _ in range(PAGES):
        page, length = await _page(client, name, cursor)
        size += length
        if size > LIST_BYTES:
            raise ServerFailed(f"{name}: its list of tools is longer than {LIST_BYTES} bytes")
        found += (_tool(name, each) for each in page.tools)
        if (cursor := page.next_cursor) is None:
            return found
    raise ServerFailed(f"{name}: its list of tools has no end: {PAGES} pages were read")


async def _page(client: Client, name: str, cursor: str | None) -> tuple[ListToolsResult, int]:
    """Read a page of tools; return it with its length."""
    seconds = client.read_timeout_seconds
    try:
        async with asyncio.timeout(seconds):  # the SDK's begins when the server has read the request
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")  # as it is now
        return page, len(page.model_dump_json())
    except TimeoutError as problem:
        raise ServerFailed(f"{name}: no answer within {seconds:g} s (tools.connect_s)") from problem
    except Exception as problem:
        raise ServerFailed(f"{name}: {told(problem)}") from problem


def _tool(server: str, described: Described) -> Tool:
    hints = described.annotations
    return Tool(
        server=server,
        name=described.name,
        description=described.description or "",
        parameters=described.input_schema,
        output=described.output_schema,
        read_only=bool(hints and hints.read_only_hint),
        destructive=not hints or hints.destructive_hint is not False,
        idempotent=bool(hints and hints.idempotent_hint),
    )


def told(problem: BaseException) -> str:
    """Return what went wrong, in a sentence: the first error of a group, however deep."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    words = problem.error.message if isinstance(problem, MCPError) else str(problem)
    return plain(words) or type(problem).__name__
