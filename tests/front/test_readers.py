"""What becomes of answers that nobody reads."""

import asyncio

import pytest

from tests.support.event_log import EventLog, of, spoken
from tests.support.stage import until
from tokenmill.front.readers import Readers
from tokenmill.gateway.hub import Hub


class Stopped:
    """Remembers what was stopped."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, str]] = []

    async def __call__(self, conversation: str, message_id: str) -> None:
        self.answers.append((conversation, message_id))


def readers(disconnect_s: float, hub: Hub | None = None) -> tuple[Readers, Stopped]:
    stopped = Stopped()
    return Readers(hub or Hub(), disconnect_s, stopped), stopped


async def test_an_answer_whose_last_reader_left_is_stopped() -> None:
    """When the time is over, and once."""
    made, stopped = readers(0.01)
    with made.reading("c", "m", stays=False), made.reading("c", "m", stays=False):
        assert made.total == 2
    await until(lambda: stopped.answers, "it is stopped")
    await made.close()
    assert (stopped.answers, made.abandoned, made.total) == ([("c", "m")], 1, 0)


async def test_whoever_has_all_of_it_stops_nothing() -> None:
    """Nor does the request of an answer that stays."""
    made, stopped = readers(0)
    with made.reading("c", "m", stays=False) as read:
        read.done = True
    with made.reading("c", "n", stays=True):
        pass
    await asyncio.sleep(0)
    assert (made._leaving, stopped.answers) == ({}, [])


@pytest.mark.parametrize("where", ["here", "elsewhere"])
async def test_an_answer_that_is_read_again_goes_on(where: str) -> None:
    """Whoever reads it then looks after it."""
    made, stopped = readers(60)
    with made.reading("c", "m", stays=False):
        pass
    (leaving,) = made._leaving.values()
    if where == "here":
        with made.reading("c", "m", stays=False) as read:
            read.done = True
    else:
        made.read_elsewhere("m")
    await asyncio.wait([leaving])
    assert leaving.cancelled()
    assert (made._leaving, stopped.answers) == ({}, [])


async def test_an_answer_that_ends_by_itself_is_not_stopped() -> None:
    """Its end is heard, and nobody waits any longer."""
    hub = Hub()
    made, stopped = readers(60, hub)
    with made.reading("c", "m", stays=False):
        pass
    (leaving,) = made._leaving.values()
    await until(lambda: hub._watched, "its end is waited for")
    hub.dispatch(EventLog(of("c", spoken("m", "Hello"))).entries())
    await asyncio.wait_for(leaving, 10)
    assert (hub._watched, made._leaving, stopped.answers) == ({}, {}, [])


async def test_a_process_that_ends_stops_nothing() -> None:
    """Its clients come back elsewhere."""
    made, stopped = readers(60)
    with made.reading("c", "m", stays=False):
        pass
    await made.close()
    assert stopped.answers == []
