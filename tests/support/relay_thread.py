"""A relay that resets all its connections again and again, in a thread of its own."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from tests.support.relay import Relay

RESET_S = 0.003
"""Between two resets of all connections: some commands of a millisecond come through, and no connection lives long."""


@contextmanager
def resetting(target: int) -> Iterator[int]:
    """A port that leads to this one, whose connections are all reset again and again.

    In a thread of its own: what is tested has a loop of another kind, and hears of a reset at any moment.
    """
    port, over = Future[int](), Event()

    async def relay() -> None:
        async with Relay(target) as relay:
            port.set_result(relay.port)
            while not over.is_set():
                await asyncio.sleep(RESET_S)
                relay.reset()
        ending = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*ending, return_exceptions=True)

    with ThreadPoolExecutor(1) as threads:
        relaying = threads.submit(asyncio.run, relay())
        try:
            yield port.result(10)
        finally:
            over.set()
            relaying.result(10)
