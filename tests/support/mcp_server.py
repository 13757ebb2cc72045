"""A server of tools, made with the protocol's own SDK. Run as `python -m tests.support.mcp_server [stdio | PORT]`."""

import os
import sys
from typing import Annotated

from mcp.server import MCPServer
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


if __name__ == "__main__":
    if sys.argv[1:] in ([], ["stdio"]):
        SERVER.run("stdio")
    else:
        SERVER.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
