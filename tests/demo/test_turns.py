"""The conversation with a tool; that it goes well is seen in the whole demo."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tests.structure.tree import CHECKOUT
from tokenmill.client import Connection, Publisher
from tokenmill.demo.broker import embedded_broker
from tokenmill.demo.run import FETCH_WAIT_MS, TOPICS
from tokenmill.demo.turns import take_turns
from tokenmill.errors import FatalError
from tokenmill.servers import RedisServer
from tokenmill.servers.tools import ToolsProcess
from tokenmill.servers.worker import WorkerProcess
from tokenmill.terminal.readable import EventPrinter

pytestmark = pytest.mark.integration

ODD = {"letters": {"command": sys.executable, "args": ["-m", "tests.support.odd_server"], "cwd": str(CHECKOUT)}}
"""A server of that name which has other tools."""


@pytest.fixture
def bootstrap(tmp_path: Path) -> Iterator[str]:
    """A broker with a worker and a runner."""
    with embedded_broker(TOPICS) as broker, RedisServer(tmp_path / "redis") as redis:
        kafka = {"kafka": {"bootstrap_servers": broker}}
        worker = WorkerProcess(tmp_path / "worker", {**kafka, "redis": {"url": redis.url}})
        with worker, ToolsProcess(tmp_path / "tools", kafka, ODD):
            yield broker


async def test_a_tool_that_fails_is_told(bootstrap: str) -> None:
    """With what its runner said of it."""
    console, connection = Console(quiet=True), Connection(bootstrap)
    printer = EventPrinter(console, live=False)
    async with Publisher(connection) as publisher:
        with pytest.raises(FatalError, match=r"'letters' failed: .*letters__count"):
            await take_turns(console, printer, connection, publisher, FETCH_WAIT_MS)
