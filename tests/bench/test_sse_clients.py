"""The benchmark's clients count what comes, and say when they are cut."""

import asyncio
import urllib.request
from pathlib import Path

import pytest

from tokenmill.bench.bare_server import BareServer
from tokenmill.bench.sse_clients import Clients, Got, Job
from tokenmill.errors import FatalError
from tokenmill.servers.process import free_port

pytestmark = pytest.mark.integration


def pushed(server: BareServer, data: bytes) -> None:
    """Have all clients sent these bytes."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/push", data=data, timeout=5) as answer:
        assert answer.status == 200


def test_frames_of_all_clients_are_counted(tmp_path: Path) -> None:
    """Each client has its own stream; a time in the last frame of a read gives its age."""
    frame = b'id: 1\ndata: {"time":1000}\n\n'
    with BareServer(tmp_path / "server") as server, Clients(tmp_path, Job(server.port, ["/a", "/a", "/b"])) as clients:
        pushed(server, frame * 4)
        pushed(server, frame)
        got = clients.got()
    assert (got.frames, got.cut) == (15, 0)
    assert got.p50_ms > 1e12


def test_clients_that_are_cut_are_told_of(tmp_path: Path) -> None:
    """A figure from fewer connections than asked for would say nothing."""
    with BareServer(tmp_path / "server") as server, Clients(tmp_path, Job(server.port, ["/a", "/b"])) as clients:
        server.kill()
        assert clients.got().cut == 2


async def test_clients_that_nobody_answers_fail(tmp_path: Path) -> None:
    """With the reason."""
    with pytest.raises(FatalError, match="do not get connected"):
        await asyncio.to_thread(Clients(tmp_path, Job(free_port(), ["/a"])).__enter__)


def test_clients_that_do_not_read_get_no_more_than_the_beginning(tmp_path: Path) -> None:
    """The server's socket to them fills."""
    with BareServer(tmp_path) as server, Clients(tmp_path, Job(server.port, ["/a"], reads=False)) as clients:
        pushed(server, b"\ndata: 1\n\n" * 10_000)
        assert clients.got() == Got(0, 0, 0.0, 0.0)
