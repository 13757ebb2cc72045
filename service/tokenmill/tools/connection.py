"""One server, spoken to by the official SDK: how it is reached, and what goes wrong told in one way.

1. Whatever fails on the way to a server, or in it, is `ServerFailed`: the SDK raises errors of three families, and in
   groups.
2. Nothing waits without a deadline.
3. The block that connects is the block that disconnects, in one task: the SDK's scopes of cancellation want that.
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
from tokenmill.tools.catalogue import Tool
from tokenmill.tools.content import plain
from tokenmill.tools.program import ANSWER_BYTES, spoken_to
from tokenmill.tools.remote import client_of
from tokenmill.tools.server_file import Program, Server

PAGES = 100
"""Of a list of tools. A server that never ends its list would keep us for ever."""


LIST_BYTES = ANSWER_BYTES
"""Of all pages together, as of one that has all of it: no model is told of as much, and it is held for each server."""


class ServerFailed(Unavailable):
    """A server can't be reached, or does not do what the protocol says."""


@asynccontextmanager
async def connected(
    server: Server,
    seconds: float,
    changed: Callable[[], None] = lambda: None,
    ended: Callable[[], None] = lambda: None,
) -> AsyncIterator[Client]:
    """A server, as long as the block lasts. Raises `ServerFailed`.

    `seconds` bounds the way up to the first answer, and each request that says nothing else. `changed` is called when
    a server of the older protocol says that it offers other tools now, `ended` when a program's output has ended.
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
    return Client(transport, read_timeout_seconds=seconds, message_handler=heard)


async def _unchecked(name: str, result: object) -> None:
    """In place of the SDK's check of a result: a server's pattern could hold all of us up, as that one has no bound.

    `Tool.unkept` does it.
    """


async def hear_changes(client: Client, changed: Callable[[], None]) -> None:
    """Call `changed` whenever a server of the newer protocol says that it offers other tools now."""
    with suppress(Exception):  # one that can't say so is asked now and then, as are all
        async with client.listen(tools_list_changed=True) as said:
            changed()  # it may have, before anybody listened
            async for _ in said:
                changed()


async def tools_of(server: Server, seconds: float) -> list[Tool]:
    """What a server offers. Raises `ServerFailed`."""
    async with connected(server, seconds) as client:
        return await offered(client, server.name)


async def offered(client: Client, name: str) -> list[Tool]:
    """What a connected server offers; `name` is ours for it. Raises `ServerFailed`."""
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
    """A page of tools, and how long it is."""
    seconds = client.read_timeout_seconds
    try:
        async with asyncio.timeout(seconds):  # the SDK's begins when the server has read what it is asked
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
    """What went wrong, in a sentence: the first of a group, whatever it is wrapped in."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    words = problem.error.message if isinstance(problem, MCPError) else str(problem)
    return plain(words) or type(problem).__name__
