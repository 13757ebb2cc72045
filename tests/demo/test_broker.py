"""The embedded broker."""

import re
import signal
from pathlib import Path

import pytest

from tests.support.topics import read_topic, write_topic
from tokenmill.client import Connection, Publisher
from tokenmill.demo.broker import embedded_broker
from tokenmill.errors import Unavailable

pytestmark = pytest.mark.integration


async def test_records_come_back_as_they_went_in() -> None:
    """The same client that talks to Kafka talks to it; its topics are there from the start."""
    with embedded_broker(["tokens"]) as bootstrap:
        await write_topic(bootstrap, "tokens", [(b"c1", b"a", [("h", b"1")]), (b"c1", None, [])])
        records = await read_topic(bootstrap, "tokens")
    assert [(record.key, record.value, list(record.headers)) for record in records] == [
        (b"c1", b"a", [("h", b"1")]),
        (b"c1", None, []),
    ]


async def test_it_ends_with_its_block() -> None:
    """Nothing listens afterwards."""
    with embedded_broker(["tokens"]) as bootstrap:
        pass
    with pytest.raises(Unavailable):
        async with Publisher(Connection(bootstrap)):
            pass


def test_its_threads_take_no_signals() -> None:
    """One that the system gave to the cluster's own would end the cluster. Ours takes them as before."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with embedded_broker(["tokens"]):
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
        tasks = [task for task in Path("/proc/self/task").iterdir() if (task / "comm").read_text().startswith("rdk:")]
        blocked = [re.search(r"SigBlk:\s*(\w+)", (task / "status").read_text()) for task in tasks]
    assert len(blocked) > 2
    assert all(found and int(found[1], 16) & 1 << signal.SIGTERM - 1 for found in blocked)
