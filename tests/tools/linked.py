"""Links to servers, for tests of them."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.warm_tools import warm
from tokenmill.config import Tools
from tokenmill.tasks import beside
from tokenmill.tools.call import Call
from tokenmill.tools.link import Link
from tokenmill.tools.server_file import Program, Server

ODD = Program("weather", sys.executable, ("-m", "tests.support.odd_server"))


def call(name: str, **arguments: Any) -> Call:
    """A call of a tool of the server `weather`."""
    return Call("c", "m", 0, 1, "call_1", f"weather__{name}", arguments, 5)


@asynccontextmanager
async def linked(server: Server | None = None, **settings: Any) -> AsyncIterator[Link]:
    """A link that runs, by default to `mcp_server`, which has its imports already."""
    link = Link(server or Program("weather", sys.executable, warm()), Tools(**settings))
    async with beside(link.run(), "the link"):
        yield link
