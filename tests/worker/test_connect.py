"""Waiting for a broker."""

import pytest

from tokenmill.config import Kafka
from tokenmill.errors import Unavailable
from tokenmill.servers.process import free_port
from tokenmill.worker import connect
from tokenmill.worker.connect import make_admin, until_available


async def test_attempts_are_repeated_until_one_succeeds(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each failure is said."""
    monkeypatch.setattr(connect, "FIRST_PAUSE_S", 0.001)
    failures = ["first", "second"]

    async def attempt() -> str:
        if failures:
            raise Unavailable(failures.pop(0))
        return "done"

    assert await until_available(attempt, 30) == "done"
    assert [record.getMessage().split(";")[0] for record in caplog.records] == ["first", "second"]


async def test_attempts_end() -> None:
    """With the last problem."""

    async def attempt() -> None:
        raise Unavailable("still away")

    with pytest.raises(Unavailable, match="still away"):
        await until_available(attempt, 0.01)


async def test_an_admin_client_without_a_broker_is_unavailable() -> None:
    """And leaves nothing behind."""
    with pytest.raises(Unavailable, match="connect"):
        async with make_admin(Kafka(bootstrap_servers=f"127.0.0.1:{free_port()}")):
            pass
