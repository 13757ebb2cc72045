"""A server of tools that is a copy is what one that was started is."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.stage import until
from tests.support.warm_tools import warm

pytestmark = pytest.mark.integration

END_S = 60


class Server:
    """One that was started, and asked by hand."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *warm()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=os.environ | variables,
        )
        client = {"name": "client", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.say({"method": "notifications/initialized"})

    def ask(self, method: str, **parameters: Any) -> Any:
        """The result of a request; None if there is no answer."""
        self.say({"id": 1, "method": method, "params": parameters})
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line)["result"] if line else None

    def call(self, name: str, **arguments: Any) -> Any:
        """What a tool returns."""
        return self.ask("tools/call", name=name, arguments=arguments)

    def say(self, message: dict[str, Any]) -> None:
        """Write a message, and wait for nothing."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """With a variable of its own."""
    server = Server(tmp_path, OWN="1")
    with server.process:
        yield server
        server.process.kill()


def test_it_has_the_folder_and_the_variables_that_it_was_started_with(server: Server, tmp_path: Path) -> None:
    """And no others; its answers come through the pipes."""
    had = set(server.call("environment")["structuredContent"]["result"])
    assert had - {"LC_CTYPE"} == {*os.environ, "OWN"} - {"LC_CTYPE"}  # Python may set that one itself
    server.call("note", words="here", ledger="ledger")
    assert (tmp_path / "ledger").read_text() == "begin here\nend here\n"


def test_it_ends_with_its_input(server: Server) -> None:
    """In order."""
    assert server.process.stdin is not None
    server.process.stdin.close()
    assert server.process.wait(END_S) == 0


def test_it_ends_with_the_code_of_the_copy(server: Server) -> None:
    """Whatever that ended of; nothing more is said."""
    assert server.call("die") is None
    assert server.process.wait(END_S) == 3


async def test_the_copy_is_gone_when_the_program_is_killed(server: Server, tmp_path: Path) -> None:
    """In the middle of a call."""
    assert server.process.stdout is not None
    arguments = {"seconds": 600, "ledger": str(tmp_path / "ledger")}
    server.say({"id": 2, "method": "tools/call", "params": {"name": "wait", "arguments": arguments}})
    await until((tmp_path / "ledger.begun").exists, "it waits")
    server.process.kill()
    assert server.process.stdout.read() == b""
    assert server.process.wait(END_S) == -9
