"""A server of tools for the benchmark: one tool does nothing, the other returns this process's processor time.

Run as `python -m tokenmill.bench.tool_server`.
"""

import time

from mcp.server import MCPServer

SERVER = MCPServer("bench", log_level="WARNING")


@SERVER.tool()
async def nothing(number: int) -> int:
    """Answer with the number."""
    return number


@SERVER.tool()
async def spent() -> float:
    """Return the seconds of processor time that this process has used."""
    return time.process_time()


if __name__ == "__main__":
    SERVER.run("stdio")
