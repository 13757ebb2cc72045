"""The copy of session records in Redis: after the acknowledgement, and honest about what it missed."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest
from aiokafka.producer.message_accumulator import BatchBuilder

from tests.support.stage import until
from tokenmill.errors import Unavailable
from tokenmill.observe import Numbers
from tokenmill.store import Breaker
from tokenmill.store.sessions import PAGE_RECORDS, Named
from tokenmill.worker import sessions
from tokenmill.worker.sessions import SessionOutbox, SessionWriter

HEADERS = [("tm-message-id", b"m/1"), ("tm-choice", b"2"), ("tm-seq", b"7")]


class Store:
    """A store that can be down."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.down = False
        self.hold = asyncio.Event()
        """Records take for ever until it is set."""
        self.hold.set()

    async def renew(self) -> None:
        """Refuse while it is down."""
        self._do("renew")

    async def put(self, records: Iterable[Named]) -> None:
        """Do the same."""
        await self.hold.wait()
        self._do([record.value for record in records])

    async def close(self) -> None:
        """Succeed always."""
        self.calls.append("closed")

    def _do(self, what: Any) -> None:
        if self.down:
            raise Unavailable("down")
        self.calls.append(what)


def named(number: int) -> Named:
    """Return a record."""
    return Named(b"c", b"m/0", b"%d" % number)


def writer_of(store: Store) -> SessionWriter:
    """Return a writer that tries again immediately."""
    return SessionWriter(store, Numbers(), Breaker(clock=lambda: 0.0), pause=0)


async def test_records_are_written_in_pages() -> None:
    """In the order in which they were acknowledged."""
    store = Store()
    writer = writer_of(store)
    for number in range(PAGE_RECORDS + 1):
        writer.take(named(number))
    assert await writer.write()
    assert await writer.write()
    assert store.calls == [[b"%d" % number for number in range(PAGE_RECORDS)], [b"%d" % PAGE_RECORDS]]


async def test_what_may_be_missed_is_said_before_anything_else() -> None:
    """At a takeover, even if no record comes."""
    store = Store()
    writer = writer_of(store)
    writer.missed()
    running = asyncio.create_task(writer.run())
    await until(lambda: store.calls == ["renew", []], "the generation ends")
    writer.take(named(1))
    await until(lambda: store.calls == ["renew", [], [b"1"]], "the record is written")
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_a_write_that_fails_is_said_with_the_next_one() -> None:
    """Its records are on the topic; the failure is counted."""
    store = Store()
    numbers = Numbers()
    clock = [0.0]
    writer = SessionWriter(store, numbers, Breaker(clock=lambda: clock[0]), pause=0)
    store.down = True
    writer.take(named(1))
    assert not await writer.write()
    store.down = False
    writer.take(named(2))
    running = asyncio.create_task(writer.run())
    await asyncio.sleep(0)
    assert store.calls == []  # the breaker is open
    clock[0] = 60.0
    await until(lambda: store.calls == ["renew", [b"2"]], "the next record is written")
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """P8: a store that is away for long costs no memory, only the next reader's time."""
    monkeypatch.setattr(sessions, "WAITING_RECORDS", 3)
    store = Store()
    writer = writer_of(store)
    for number in range(5):
        writer.take(named(number))
    assert await writer.write()
    assert store.calls == ["renew", [b"3", b"4"]]


async def test_the_last_records_are_written_on_the_way_out() -> None:
    """Before the connections are closed."""
    store = Store()
    writer = writer_of(store)
    writer.take(named(1))
    await writer.close()
    assert store.calls == [[b"1"], "closed"]


async def test_all_that_waits_is_written_on_the_way_out() -> None:
    """Also what was being written when the task was cancelled, in its order."""
    store = Store()
    writer = writer_of(store)
    for number in range(3 * PAGE_RECORDS):
        writer.take(named(number))
    store.hold.clear()
    running = asyncio.create_task(writer.run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    store.hold.set()
    await writer.close()
    *pages, last = store.calls
    assert [value for page in pages for value in page] == [b"%d" % number for number in range(3 * PAGE_RECORDS)]
    assert last == "closed"


async def test_a_store_that_does_not_answer_keeps_no_end_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is marked as missing, if that is possible."""
    monkeypatch.setattr(sessions, "LAST_S", 0.05)
    monkeypatch.setattr(sessions, "RENEW_S", 0.05)
    store = Store()
    store.hold.clear()
    writer = writer_of(store)
    writer.take(named(1))
    await writer.close()
    assert store.calls == ["renew", "closed"]


async def test_a_store_that_is_down_keeps_no_end_waiting() -> None:
    """The next owner of the partitions ends the generation."""
    store = Store()
    store.down = True
    writer = writer_of(store)
    writer.take(named(1))
    await writer.close()
    assert store.calls == ["closed"]


async def test_only_what_is_acknowledged_is_taken() -> None:
    """And found by the ids in its headers, whatever characters they have."""
    store, told = Store(), list[int]()
    writer = writer_of(store)
    producer: Any = _Producer()
    box = SessionOutbox(producer, "sessions", 0, writer=writer, acknowledged=told.append, failed=lambda _: None)
    for number in range(3):
        box.append(1, b"c/o/m/1/2", b"%d" % number, HEADERS)
    assert await writer.write()
    assert store.calls == [[]]
    box.flush()
    await until(lambda: told == [3], "the batch is acknowledged")
    taken = list(writer._waiting)
    assert taken == [Named(b"c/o", b"m/1/2", b"%d" % number) for number in range(3)]


class _Producer:
    """A client that acknowledges immediately."""

    def create_batch(self) -> BatchBuilder:
        """Return an empty one."""
        return BatchBuilder(1_000, 0)

    async def send_batch(self, _batch: BatchBuilder, _topic: str, *, partition: int) -> "asyncio.Future[None]":  # noqa: ARG002 -- the client's
        """Acknowledge it."""
        future = asyncio.get_running_loop().create_future()
        future.set_result(None)
        return future
