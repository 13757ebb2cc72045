"""A conversation in two turns: the model calls a tool, a runner runs it, and the model reports the result.

The model's words are fixed except for the number in them, which is the tool's answer.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer
from rich.console import Console

from tokenmill.client import Connection, Follower, Publisher
from tokenmill.errors import FatalError
from tokenmill.events import AnyEvent, Finish, ToolCall, ToolResult, decode_event
from tokenmill.formats import find_format
from tokenmill.formats.history import format_result
from tokenmill.terminal.readable import EventPrinter

CONVERSATION = "letters"

ABOUT = "a call that is really made; those above name tools that no server has"

SERVERS: Mapping[str, Any] = {"letters": {"command": sys.executable, "args": ["-m", "tokenmill.demo.letters"]}}
"""The runner's servers, as `mcpServers`."""

FORMAT = find_format("hermes")
QUESTION = 'How many times does "strawberry" have an "r"?'
COUNTED = 3
CALL = """I had better count.
<tool_call>
{"name": "letters__count", "arguments": {"word": "strawberry", "letter": "r"}}
</tool_call>"""

STEP = 4
"""Characters in a chunk."""

DEADLINE_S = 30.0
"""Seconds for both turns; a quiet machine needs one."""


async def take_turns(
    console: Console, printer: EventPrinter, connection: Connection, publisher: Publisher, fetch_wait_ms: int
) -> None:
    """Play the conversation. Raises `FatalError` if the tool's answer does not come, or is wrong."""
    console.print(f"  question   {QUESTION}", style="dim", soft_wrap=True)
    events = Follower(connection, conversation_id=CONVERSATION, fetch_wait_ms=fetch_wait_ms)
    try:
        async with asyncio.timeout(DEADLINE_S), events, _results(connection, fetch_wait_ms) as results:
            coming = events.events()
            call = await _turn("first", CALL, publisher, coming, printer)
            result = await _result(call, results)
            printer.show(result)
            answer = _text(result)
            shown = format_result(FORMAT, result.name, answer).replace("\n", "")
            console.print(f"  shown      {shown}", style="dim", soft_wrap=True)
            await _turn("second", f"It has {answer} of them.", publisher, coming, printer)
    except TimeoutError as late:
        raise FatalError(f"the conversation {CONVERSATION!r} took more than {DEADLINE_S:.0f} s") from late
    if answer != str(COUNTED):
        raise FatalError(f"the tool of the conversation {CONVERSATION!r} answered {answer!r}")


async def _turn(
    message_id: str, text: str, publisher: Publisher, coming: AsyncIterator[AnyEvent], printer: EventPrinter
) -> ToolCall | None:
    """Show the model's answer as it comes; return the last call in it."""
    message, call = publisher.message(CONVERSATION, message_id, open={"format": FORMAT.name}), None
    for at in range(0, len(text), STEP):
        await message.text(text[at : at + STEP])
    await message.finish()
    async for event in coming:
        printer.show(event)
        call = event if isinstance(event, ToolCall) else call
        if isinstance(event, Finish):
            break
    return call


@asynccontextmanager
async def _results(connection: Connection, fetch_wait_ms: int) -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a reader of all results. The embedded broker's own transaction records have no checksums."""
    consumer = AIOKafkaConsumer(
        "tool-results",
        auto_offset_reset="earliest",
        check_crcs=False,
        fetch_max_wait_ms=fetch_wait_ms,
        **connection.arguments(),
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def _result(call: ToolCall | None, results: AIOKafkaConsumer) -> ToolResult:
    async for record in results:
        event = decode_event(record.value)
        if isinstance(event, ToolResult) and call is not None and event.id == call.id:
            return event
    raise FatalError(f"the conversation {CONVERSATION!r} has no result")  # the topic is followed without an end


def _text(result: ToolResult) -> str:
    """Return the tool's text. Raises `FatalError` if it failed."""
    if result.error:
        raise FatalError(f"the tool of the conversation {CONVERSATION!r} failed: {result.error}")
    return str(result.result["content"][0]["text"])
