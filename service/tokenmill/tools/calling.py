"""One call of a tool: what came of it, whatever that is, as a value.

1. It has a deadline, and the server is told when that is over.
2. It is sent once. Whether it may be sent again is for somebody to say who knows the tool.
"""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any

import msgspec
from mcp import Client, MCPError
from mcp.types import CONNECTION_CLOSED, CallToolResult

from tokenmill.tools.catalogue import Tool
from tokenmill.tools.connection import told
from tokenmill.tools.content import error_of, result_of
from tokenmill.tools.outcome import Code, Outcome, Progress
from tokenmill.tools.remote import FORGOTTEN

GONE = "Connection closed", "SSE stream "
"""How the SDK begins to say that a connection is gone, under a code that servers use for errors of their own."""

TELL_S = 0.5
"""For a server to be told that nobody waits any more. One that reads nothing can't be, and the SDK tries for longer."""

REPEAT_KEY = "tokenmill/idempotencyKey"
"""In a request's `_meta`: the protocol has no word for it."""


class CallOptions(msgspec.Struct, frozen=True):
    """How a call is made."""

    seconds: float
    """When it has to be over."""
    repeat_key: str = ""
    """Tells the tool whether it has had the call before."""
    progress: Callable[[Progress], None] | None = None
    """Hears how far it is."""
    tracing: tuple[tuple[str, str], ...] = ()
    """Headers of the trace that it is part of; the protocol has them in `_meta`."""


async def called(client: Client, tool: Tool, arguments: dict[str, Any], options: CallOptions) -> Outcome:
    """Make the call, once, and tell what came of it."""
    began = time.monotonic()
    outcome = await _called(client, tool, arguments, options)
    return msgspec.structs.replace(outcome, elapsed_ms=round((time.monotonic() - began) * 1000))


async def _called(client: Client, tool: Tool, arguments: dict[str, Any], options: CallOptions) -> Outcome:
    meta: Any = {**({REPEAT_KEY: options.repeat_key} if options.repeat_key else {}), **dict(options.tracing)} or None
    hear, seconds = options.progress, options.seconds

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        if hear is not None and math.isfinite(progress):  # JSON has no other numbers, so no record would
            hear(Progress(progress, total if total is None or math.isfinite(total) else None, message))

    answers = client.call_tool(
        tool.name,
        arguments,
        read_timeout_seconds=2 * seconds,  # behind ours: its error looks like one of the protocol
        progress_callback=None if hear is None else heard,
        meta=meta,
    )
    calling = asyncio.create_task(answers)
    calling.add_done_callback(_looked_at)
    try:
        await asyncio.wait({calling}, timeout=seconds)
        if not calling.done():
            return Outcome(error=f"no answer within {seconds:g} s", code="timeout")
        answer = calling.result()
    except MCPError as problem:
        return Outcome(error=told(problem), code=_code_of(problem))
    except (ValueError, RuntimeError) as problem:  # what is no result
        return Outcome(error=told(problem), code="protocol")
    except Exception as problem:  # noqa: BLE001 -- the SDK, its HTTP client and the system each have errors of their own
        return Outcome(error=told(problem), code="transport")
    finally:
        if calling.cancel():
            await asyncio.wait({calling}, timeout=TELL_S)
    return _said(tool, answer)


def _looked_at(calling: "asyncio.Task[CallToolResult]") -> None:
    """What a call failed of that nobody waits for any more is no news."""
    if not calling.cancelled():
        calling.exception()


def _said(tool: Tool, answer: CallToolResult) -> Outcome:
    """The outcome that the server answered."""
    content = [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in answer.content]
    if answer.is_error:
        return Outcome(error=error_of(content), code="tool")
    if tool.output is not None and "structured_content" not in answer.model_fields_set:
        return Outcome(error="the structured content is missing that the tool promises", code="protocol")
    if (problem := tool.unkept(answer.structured_content)) is not None:
        return Outcome(error=problem, code="protocol")
    return Outcome(result=result_of(content, answer.structured_content))


def _code_of(problem: MCPError) -> Code:
    """Whose error it is. Of a call that the server has no session for it is known that the tool was not called."""
    error = problem.error
    if error.code == FORGOTTEN:
        return "unavailable"
    return "transport" if error.code == CONNECTION_CLOSED and error.message.startswith(GONE) else "protocol"
