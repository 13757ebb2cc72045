"""One call of a tool: what came of it, whatever that is, as a value.

1. It has a deadline, and the server is told when that is over.
2. It is sent once. Whether it may be sent again is for somebody to say who knows the tool.
"""

import asyncio
import time
from typing import Any

import msgspec
from mcp import Client, MCPError

from tokenmill.tools.catalogue import Tool
from tokenmill.tools.connection import told
from tokenmill.tools.content import error_of, result_of
from tokenmill.tools.outcome import Outcome

CLOSED = -32_000
"""The code of the SDK's error for a connection that is gone: no server has said it."""

REPEAT_KEY = "tokenmill/idempotencyKey"
"""In a request's `_meta`: the protocol has no word for it."""


async def called(
    client: Client, tool: Tool, arguments: dict[str, Any], seconds: float, repeat_key: str = ""
) -> Outcome:
    """Make the call, once. A tool that is told a `repeat_key` can recognise a call that it has had before."""
    began = time.monotonic()
    outcome = await _called(client, tool, arguments, seconds, repeat_key)
    return msgspec.structs.replace(outcome, elapsed_ms=round((time.monotonic() - began) * 1000))


async def _called(client: Client, tool: Tool, arguments: dict[str, Any], seconds: float, repeat_key: str) -> Outcome:
    meta: Any = {REPEAT_KEY: repeat_key} if repeat_key else None
    try:
        async with asyncio.timeout(seconds):  # before the SDK's own, whose error looks like one of the protocol
            answer = await client.call_tool(tool.name, arguments, read_timeout_seconds=2 * seconds, meta=meta)
    except TimeoutError:
        return Outcome(error=f"no answer within {seconds:g} s", code="timeout")
    except (MCPError, ValueError) as problem:  # or what is no result
        closed = isinstance(problem, MCPError) and problem.error.code == CLOSED
        return Outcome(error=told(problem), code="transport" if closed else "protocol")
    except Exception as problem:  # noqa: BLE001 -- the SDK, its HTTP client and the system each have errors of their own
        return Outcome(error=told(problem), code="transport")
    content = [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in answer.content]
    if answer.is_error:
        return Outcome(error=error_of(content), code="tool")
    return Outcome(result=result_of(content, answer.structured_content))
