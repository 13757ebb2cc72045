"""What long-running processes share: a port, and a deadline on their end."""

import asyncio
import threading

import pytest

from tokenmill.errors import FatalError
from tokenmill.process import Deadline, ToldToStop, before, bound


def test_a_deadline_ends_the_process_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The first reason to end counts; a process that is over by then never notices."""
    ended, codes = threading.Event(), list[int]()

    def exit_process(code: int) -> None:
        codes.append(code)
        ended.set()

    deadline = Deadline(exit_process)
    deadline.start(0.01, "stop")
    deadline.start(0.0, "failure")
    assert ended.wait(10)
    assert codes == [1]
    assert "stop: not over after 0.01 s" in capsys.readouterr().err


async def test_what_a_process_waits_for_ends_when_it_is_told_to() -> None:
    """Its result, or its error, else; and nothing goes on behind either."""
    stop, never = asyncio.Event(), asyncio.Event()

    async def result() -> int:
        return 7

    async def broken() -> int:
        raise FatalError("no")

    tasks = asyncio.all_tasks()
    assert await before(stop, result()) == 7
    with pytest.raises(FatalError, match="no"):
        await before(stop, broken())
    asyncio.get_running_loop().call_later(0.01, stop.set)
    with pytest.raises(ToldToStop):
        await before(stop, never.wait())
    assert asyncio.all_tasks() == tasks


def test_a_port_is_bound_for_whoever_asks() -> None:
    """For 0 any that is free; of both families."""
    for bind in ("127.0.0.1", "::1"):
        with bound(bind, 0, "gateway") as sock:
            assert sock.getsockname()[0] == bind
            assert sock.getsockname()[1] > 0


def test_a_port_that_is_taken_is_told_from_an_address_that_is_not_ours() -> None:
    """Which of the two settings to change is said, with its key as the environment has it."""
    with bound("127.0.0.1", 0, "worker") as other:
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(FatalError) as taken:
            bound("127.0.0.1", port, "worker")
    assert str(taken.value).startswith(f"worker.bind and worker.port: can't listen on 127.0.0.1 port {port}: ")
    assert str(taken.value).endswith("; set another TOKENMILL_WORKER__PORT, or 0 for any that is free")
    for bind in ("192.0.2.1", "no-such-host.invalid", "2001:db8::1"):
        with pytest.raises(FatalError) as foreign:
            bound(bind, 0, "gateway", "ops_")
        assert str(foreign.value).startswith(f"gateway.ops_bind and gateway.ops_port: can't listen on {bind} port 0: ")
        assert str(foreign.value).endswith("; set another TOKENMILL_GATEWAY__OPS_BIND, or 0.0.0.0 for all")
