"""The reference of the gateway's benchmark: what is posted goes to every client."""

import urllib.request
from pathlib import Path

import pytest

from tokenmill.bench.bare_server import BareServer
from tokenmill.servers.process import free_port

pytestmark = pytest.mark.integration


def test_what_is_pushed_is_sent_as_it_is(tmp_path: Path) -> None:
    """To a client of whatever address."""
    with BareServer(tmp_path) as server, urllib.request.urlopen(f"http://127.0.0.1:{server.port}/x", timeout=5) as one:
        assert one.read(len(b": open\n\n")) == b": open\n\n"
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/push", data=b"data: 1\n\n", timeout=5):
            assert one.read(len(b"data: 1\n\n")) == b"data: 1\n\n"


def test_nobody_answers_on_a_free_port(tmp_path: Path) -> None:
    """A server is ready when it answers, not before."""
    server = BareServer(tmp_path)
    server.port = free_port()
    assert not server.ready()
