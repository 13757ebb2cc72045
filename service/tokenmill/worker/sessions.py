"""The copy of the topic `sessions` in Redis: written after the acknowledgement, off the token path.

Nobody waits for it. A record that could not be written is not lost, as the topic has it; but readers must not take an
incomplete copy for the whole, so the copy's generation is ended first (see `store.sessions`).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from tokenmill.errors import Unavailable
from tokenmill.observe import Numbers
from tokenmill.records import Headers
from tokenmill.store.guarded import Breaker
from tokenmill.store.sessions import PAGE_RECORDS, Named, SessionStore
from tokenmill.worker.outbox import Outbox, Publisher

log = logging.getLogger(__name__)

WAITING_RECORDS = 20_000
"""Records that may wait for Redis: some MiB, and seconds of it at a rate of answers that no worker reaches."""

OP = "session"
"""Label of the metric of failures."""

CALL_S = 5.0
"""Deadline of one call to the store."""

LAST_S = 3.0
"""Seconds for writing the records that wait when the worker ends."""

RENEW_S = 1.0
"""Seconds for then marking the copy as incomplete; both fit into the shutdown deadline."""


class SessionWriter:
    """Writes session records to the store, in the order in which they were acknowledged."""

    def __init__(
        self, store: SessionStore, numbers: Numbers, breaker: Breaker | None = None, pause: float = 0.2
    ) -> None:
        """`pause`: seconds between two attempts at a store that failed."""
        self._store = store
        self._numbers = numbers
        self._breaker = breaker or Breaker()
        self._pause = pause
        self._waiting: deque[Named] = deque()
        self._work = asyncio.Event()
        self._missed = False

    def missed(self) -> None:
        """Note that the store may lack records of the topic."""
        self._missed = True
        self._work.set()

    def take(self, record: Named) -> None:
        """Queue a record for writing."""
        if len(self._waiting) >= WAITING_RECORDS:
            self._waiting.clear()
            self.missed()
        self._waiting.append(record)
        self._work.set()

    async def run(self) -> None:
        """Write what waits, for ever."""
        while True:
            await self._work.wait()
            if self._breaker.open or not await self.write():
                await asyncio.sleep(self._pause)

    async def write(self) -> bool:
        """Write a page of what waits; return False if the store does not answer."""
        page = [self._waiting.popleft() for _ in range(min(len(self._waiting), PAGE_RECORDS))]
        began = self._breaker.clock()
        try:
            async with asyncio.timeout(CALL_S):
                if self._missed:
                    await self._store.renew()
                    self._missed = False
                await self._store.put(page)
        except (Unavailable, TimeoutError) as problem:
            self._missed = True
            self._breaker.failed(began)
            self._numbers.add("tokenmill_redis_errors_total", OP)
            log.warning("%d session records are not in Redis: %s", len(page), problem)
            return False
        except BaseException:  # cancelled: how much was written is not known, and writing it again changes nothing
            self._waiting.extendleft(reversed(page))
            raise
        self._breaker.succeeded()
        if not self._waiting and not self._missed:
            self._work.clear()
        return True

    async def close(self) -> None:
        """Write the last records and close the store. If it does not get all of them, its generation ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_S):
                while self._waiting and not self._breaker.open and await self.write():
                    pass
        if self._waiting or self._missed:
            with suppress(TimeoutError, Unavailable):  # then the next owners end it
                async with asyncio.timeout(RENEW_S):
                    await self._store.renew()
        await self._store.close()


class SessionOutbox(Outbox):
    """The way to a partition of the topic `sessions`; what is acknowledged there goes to the store, too."""

    __slots__ = ("_sent", "_writer")

    def __init__(
        self,
        producer: Publisher,
        topic: str,
        partition: int,
        *,
        writer: SessionWriter,
        acknowledged: Callable[[int], None],
        failed: Callable[[Exception], None],
    ) -> None:
        def through(records: int) -> None:
            for _ in range(records):
                writer.take(self._sent.popleft())
            acknowledged(records)

        super().__init__(producer, topic, partition, acknowledged=through, failed=failed)
        self._sent: deque[Named] = deque()
        self._writer = writer

    def append(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        """As `Outbox.append`; the record is remembered until it is acknowledged."""
        super().append(timestamp, key, value, headers)
        self._sent.append(_named(key or b"", value or b"", headers))


def _named(key: bytes, value: bytes, headers: Headers) -> Named:
    """Split a key, which ends with the ids that are in the headers."""
    ids = dict(headers)
    answer = b"%b/%b" % (ids["tm-message-id"], ids.get("tm-choice", b"0"))
    return Named(key[: len(key) - len(answer) - 1], answer, value)
