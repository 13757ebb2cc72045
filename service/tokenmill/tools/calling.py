"""One call of a tool: what came of it, whatever that is, as a value.

1. A call has a deadline, and the server is told when it has passed.
2. A call is sent once. Only somebody who knows the tool can decide whether it may be sent again.
"""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any

import msgspec
from mcp import Client, MCPError
from mcp.types import CONNECTION_CLOSED, CallToolResult

from tokenmill.observe.tools_table import Code
from tokenmill.tasks import looked_at
from tokenmill.tools.catalogue import Tool
from tokenmill.tools.connection import told
from tokenmill.tools.content import error_of, result_of
from tokenmill.tools.outcome import Outcome, Progress
from tokenmill.tools.remote import BROKEN_OFF, FORGOTTEN

GONE = "Connection closed", "SSE stream "
"""Beginnings of the SDK's messages about a lost connection: servers use their code for errors of their own."""

TELL_S = 0.5
"""Seconds for telling a server that nobody waits any longer: the SDK would try for longer if it reads nothing."""

REPEAT_KEY = "tokenmill/idempotencyKey"
"""Key in a request's `_meta`: the protocol has none for it."""


class CallOptions(msgspec.Struct, frozen=True):
    """How a call is made."""

    seconds: float
    """Seconds that it may take."""
    repeat_key: str = ""
    """Key by which the tool recognizes a call that it has had before."""
    progress: Callable[[Progress], None] | None = None
    """Function that gets the progress of the call."""
    tracing: tuple[tuple[str, str], ...] = ()
    """Headers of the trace that it is part of; the protocol puts them into `_meta`."""


async def called(client: Client, tool: Tool, arguments: dict[str, Any], options: CallOptions) -> Outcome:
    """Make the call, once, and return its outcome."""
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
        read_timeout_seconds=2 * seconds,  # after ours: the SDK's error looks like one of the protocol
        progress_callback=None if hear is None else heard,
        meta=meta,
    )
    calling = asyncio.create_task(answers)
    calling.add_done_callback(looked_at)  # without an answer in time nobody waits for it any longer
    try:
        await asyncio.wait({calling}, timeout=seconds)
        if not calling.done():
            return Outcome(error=f"no answer within {seconds:g} s", code="timeout")
        answer = calling.result()
    except MCPError as problem:
        return Outcome(error=told(problem), code=_code_of(problem))
    except (ValueError, RuntimeError) as problem:  # not a result
        return Outcome(error=told(problem), code="protocol")
    except Exception as problem:  # noqa: BLE001 -- the SDK, its HTTP client and the system each have errors of their own
        return Outcome(error=told(problem), code="transport")
    finally:
        if calling.cancel():
            await asyncio.wait({calling}, timeout=TELL_S)
    return _said(tool, answer)


def _said(tool: Tool, answer: CallToolResult) -> Outcome:
    """Return the outcome that the server answered."""
    content = [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in answer.content]
    if answer.is_error:
        return Outcome(error=error_of(content), code="tool")
    if tool.output is not None and "structured_content" not in answer.model_fields_set:
        return Outcome(error="the structured content that the tool promises is missing", code="protocol")
    if (problem := tool.unkept(answer.structured_content)) is not None:
        return Outcome(error=problem, code="protocol")
    return Outcome(result=result_of(content, answer.structured_content))


def _code_of(problem: MCPError) -> Code:
    """Return the code that says whose error it is. Without a session at the server the tool was not called."""
    error = problem.error
    if error.code == FORGOTTEN:
        return "unavailable"
    lost = error.code == BROKEN_OFF or (error.code == CONNECTION_CLOSED and error.message.startswith(GONE))
    return "transport" if lost else "protocol"
