"""What a server asks of us, and what comes of asking on and on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import METHOD_NOT_FOUND, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from tokenmill.tools.answering import answering


class Server:
    """The far end of a transport."""

    def __init__(self) -> None:
        self.says, self._heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self._sent, self.hears = anyio.create_memory_object_stream[SessionMessage](0)

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[tuple[Any, Any]]:
        """Our end; all is closed behind it."""
        with self._heard, self._sent, self.says, self.hears:
            yield self._heard, self._sent


def request(method: str, number: int = 1) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method=method))


async def test_requests_are_answered_and_other_messages_passed_on() -> None:
    """A ping, and what we do not offer; the stream ends with the server's."""
    server = Server()
    note = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/message"))
    answer = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={}))
    fault = ValueError("no message")

    async def says() -> None:
        with server.says:
            for message in (note, request("ping", 7), answer, request("roots/list", 8), fault):
                await server.says.send(message)

    async with answering(server.transport()) as (received, _):
        saying = asyncio.create_task(says())
        hearing = asyncio.create_task(_taken(server, 2))
        passed = [message async for message in received]
        await saying
        pong, refusal = await hearing
    assert passed == [note, answer, fault]
    assert pong == JSONRPCResponse(jsonrpc="2.0", id=7, result={})
    assert isinstance(refusal, JSONRPCError)
    assert (refusal.id, refusal.error.code) == (8, METHOD_NOT_FOUND)


async def _taken(server: Server, many: int) -> list[Any]:
    return [(await server.hears.receive()).message for _ in range(many)]


async def test_a_server_that_reads_no_answer_is_read_no_further() -> None:
    """Its requests stay with it."""
    server, asked = Server(), list[int]()

    async def asks() -> None:
        for number in range(1_000):
            await server.says.send(request("ping", number))
            asked.append(number)

    async with answering(server.transport()) as (received, _):
        tasks = [asyncio.create_task(asks()), asyncio.create_task(anext(received))]
        await anyio.wait_all_tasks_blocked()
        assert asked == [0]
        assert [each.id for each in await _taken(server, 3)] == [0, 1, 2]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_a_server_that_is_gone_has_no_more_messages() -> None:
    """Even if it is noticed by the answer that it does not take."""
    server = Server()
    async with answering(server.transport()) as (received, _):
        server.hears.close()
        asking = asyncio.create_task(server.says.send(request("ping")))
        assert [message async for message in received] == []
        await asking
