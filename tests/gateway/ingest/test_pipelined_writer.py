"""Records of a request go in order, several at once, and no more of them than one writer should have under way."""

import asyncio

import pytest

from tests.support.written import PARTITION, Written
from tokenmill.gateway.ingest import pipelined_writer as module
from tokenmill.gateway.ingest.in_flight import unavailable
from tokenmill.gateway.ingest.pipelined_writer import PipelinedWriter
from tokenmill.gateway.problems import Refused


def writer_of(written: Written) -> PipelinedWriter:
    return PipelinedWriter(written, "tokens", b"c")


async def test_records_go_before_the_ones_in_front_are_acknowledged() -> None:
    """A round trip for each would make a stream slow."""
    written = Written()
    written.acknowledging.clear()
    writer = writer_of(written)
    for value in (b"1", b"2", None):
        await writer.put(value, [("h", b"x")])
    assert [(record.value, record.header("h")) for record in written.records] == [(b"1", "x"), (b"2", "x"), (None, "x")]
    assert (writer.accepted, writer.last) == (0, None)
    written.acknowledging.set()
    await writer.acknowledged()
    assert (writer.accepted, writer.last, writer.failed) == (3, (PARTITION, 2), False)


async def test_who_goes_on_for_another_does_it_on_the_same_partition() -> None:
    """The first one chooses it, with its first record."""
    before = writer_of(Written())
    chosen = [before.partition]
    await before.put(b"1", ())
    assert [*chosen, before.partition] == [None, PARTITION]

    class Grown(Written):
        async def partition(self, topic: str, key: bytes) -> int:
            return await super().partition(topic, key) + 1

    after = PipelinedWriter(Grown(), "tokens", b"c", before.partition)
    await after.put(b"2", ())
    await after.acknowledged()
    assert after.last == (PARTITION, 0)


async def test_a_writer_that_is_too_far_ahead_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a body is read no faster than Kafka takes it, and its client is slowed down by TCP."""
    monkeypatch.setattr(module, "WINDOW_BYTES", 10)
    written = Written()
    written.acknowledging.clear()
    writer = writer_of(written)
    for _ in range(2):
        await writer.put(b"x" * 8, ())
    third = asyncio.create_task(writer.put(b"x" * 8, ()))
    await asyncio.wait([third], timeout=0.01)
    assert (third.done(), len(written.records)) == (False, 2)
    written.acknowledging.set()
    await third
    assert len(written.records) == 3


async def test_what_was_accepted_before_a_refusal_is_known() -> None:
    """Its writer goes on behind it."""
    written = Written()
    written.refusals[2] = unavailable("Kafka: no")
    writer = writer_of(written)
    with pytest.raises(Refused, match="Kafka: no"):  # noqa: PT012 -- which of them hears of it does not matter
        for _ in range(5):
            await writer.put(b"x", ())
        await writer.acknowledged()
    await writer.settled()
    assert (writer.accepted, writer.failed) == (2, True)
    await writer.put(b"end", ())
    await writer.settled()
    assert writer.accepted == 3


async def test_what_kafka_has_answered_is_not_kept() -> None:
    """A body may have any number of records."""
    writer = writer_of(Written())
    for number in range(9):
        await writer.put(b"x", ())
        assert (writer.accepted, len(writer._under_way)) == (number, 1)
        await asyncio.sleep(0)


@pytest.mark.parametrize("refusal", [unavailable("Kafka: no"), None])
async def test_what_has_an_outcome_takes_no_room(refusal: Refused | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would leave less of it, in the end for one record at a time."""
    monkeypatch.setattr(module, "WINDOW_BYTES", 10)
    written = Written()
    written.refusals = dict.fromkeys(range(2), refusal) if refusal else {}
    writer = writer_of(written)
    for _ in range(2):
        await writer.put(b"x" * 8, ())
    await writer.settled()
    written.acknowledging.clear()
    async with asyncio.timeout(5):
        for _ in range(2):
            await writer.put(b"x" * 8, ())
    assert len(written.records) == 4


async def test_nothing_is_known_of_what_was_not_put() -> None:
    """An empty body has no place in the log."""
    writer = writer_of(Written())
    await writer.acknowledged()
    assert (writer.put_any, writer.accepted, writer.last) == (False, 0, None)
