"""A server of tools, made with the protocol's own SDK. Run as `python -m tests.support.mcp_server [stdio | PORT]`."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, Any

from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

SERVER = MCPServer("weather", log_level="WARNING")


@SERVER.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True))
def forecast(city: Annotated[str, Field(description="Its name.")], days: int = 1) -> str:
    """The weather of the next days.

    A second paragraph.
    """
    return f"{city}: sun for {days} days"


@SERVER.tool(name="station/reset")
def reset(station: str) -> str:
    """Start a station anew."""
    return station


@SERVER.tool()
def environment() -> list[str]:
    """Which variables this process has."""
    return sorted(os.environ)


@SERVER.tool()
def whoami(context: Context) -> dict[str, Any]:
    """What the request says of itself."""
    return dict(context.request_context.meta or {})


@SERVER.tool()
async def wait(seconds: float, ledger: str) -> str:
    """Wait, and write into a file what came of it; another one says that it has begun."""
    came = "cancelled"
    try:
        _write(f"{ledger}.begun", "")
        await asyncio.sleep(seconds)
        came = "done"
    finally:
        _write(ledger, came)
    return came


def _write(ledger: str, words: str) -> None:
    Path(ledger).write_text(words)


@SERVER.tool()
async def note(words: str, ledger: str, seconds: float = 0) -> str:
    """Add lines to a file: when it begins, and when it is over."""
    _add(ledger, f"begin {words}")
    await asyncio.sleep(seconds)
    _add(ledger, f"end {words}")
    return words


@SERVER.tool()
async def sign(words: str, ledger: str, seconds: float = 0) -> str:
    """The same, for what somebody has to approve of."""
    return await note(words, ledger, seconds)


def _add(ledger: str, line: str) -> None:
    with Path(ledger).open("a") as file:
        file.write(f"{line}\n")


@SERVER.tool()
def take(params: list[int]) -> int:
    """Add numbers."""
    return sum(params)


@SERVER.tool()
async def count(steps: int, context: Context) -> int:
    """Say how far it is, at each step."""
    for step in range(1, steps + 1):
        await context.report_progress(step, steps, f"{step} done")
    return steps


@SERVER.tool()
async def learn(context: Context) -> str:
    """Have one more tool."""
    SERVER.add_tool(trick)
    await context.notify_tools_changed()
    return "learned"


def trick() -> str:
    """Show it."""
    return "shown"


@SERVER.tool()
def fail(words: str) -> str:
    """Fail."""
    raise ToolError(words)


@SERVER.tool()
def refuse(code: int = -32602, words: str = "not like this") -> str:
    """Answer with an error of the protocol."""
    raise MCPError(code, words)


@SERVER.tool()
def die() -> str:
    """End the process."""
    os._exit(3)


@SERVER.tool()
def long_text(characters: int) -> str:
    """Many of them."""
    return "x" * characters


if __name__ == "__main__":
    if sys.argv[1:] in ([], ["stdio"]):
        SERVER.run("stdio")
    else:
        SERVER.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
