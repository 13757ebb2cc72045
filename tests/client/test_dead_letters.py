"""Dead letters: what a record's headers say, and replays that meet."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer

from tests.support.stage import until
from tests.support.topics import make_topics, read_topic, write_topic
from tokenmill.client import Connection, dead_letters
from tokenmill.client.dead_letters import (
    BATCH,
    TRANSACTION_BYTES,
    DeadLetter,
    Replayer,
    Selection,
    Source,
    Target,
    is_full,
    read_letters,
)
from tokenmill.errors import FatalError, Unavailable
from tokenmill.records import InputRecord
from tokenmill.servers import KafkaServer


def _letter(source: Source | None, code: str = "orphan", timestamp: int = 5) -> DeadLetter:
    return DeadLetter(InputRecord("dlq", 0, 3, timestamp, b"key", b"value"), code, "", source, "new")


def test_a_selection_takes_what_meets_all_its_conditions() -> None:
    """A letter without a source is in no topic and no partition."""
    letter = _letter(Source("tokens", 2, 9))
    assert Selection().takes(letter)
    assert Selection(["orphan"], "tokens", 2, 5).takes(letter)
    wrong = (Selection(["bad-key"]), Selection(topic="t"), Selection(partition=1), Selection(since_ms=6))
    assert not any(selection.takes(letter) for selection in wrong)
    assert not Selection(partition=0).takes(_letter(None))
    assert not Selection(topic="tokens").takes(_letter(None))


def test_only_what_the_worker_added_is_taken_off() -> None:
    """The record's own headers stay, in their order."""
    own = [("tm-codec", b"text"), ("traceparent", b"00")]
    added = [("tm-error-code", b"orphan"), ("tm-error", b"no"), ("tm-source-topic", b"t"), ("tm-source-offset", b"1")]
    record = InputRecord("dlq", 1, 3, 5, b"key", b"value", [*own, *added])
    letter = DeadLetter(record, "orphan", "no", None, "new")
    assert (list(letter.headers), letter.name, letter.size) == (own, "1-3", 8)
    empty = msgspec.structs.replace(letter, record=InputRecord("dlq", 1, 4, 5, None, None))
    assert (empty.name, empty.size) == ("1-4", 0)


def test_a_transaction_holds_so_many_records_and_so_many_bytes() -> None:
    """All of them are in memory, and have to be written in its time over a slow line."""
    small, large = _letter(None), _letter(None)
    large = msgspec.structs.replace(large, record=InputRecord("dlq", 0, 3, 5, b"", b"x" * (TRANSACTION_BYTES // 4)))
    assert [is_full([small] * count) for count in (BATCH - 1, BATCH)] == [False, True]
    assert [is_full([large] * count) for count in (3, 4)] == [False, True]


@pytest.mark.integration
async def test_a_rejected_record_is_not_a_receipt(kafka: str, unique: str) -> None:
    """A producer may give its records any header, and the dead letter keeps it: it hides no other dead letter."""
    dlq = f"dlq-{unique}"
    await make_topics(kafka, dlq, partitions=1)
    receipt = ("tm-receipt", b"0")
    reason = [("tm-error-code", b"orphan"), ("tm-source-topic", b"tokens"), ("tm-source-partition", b"0")]
    reason.append(("tm-source-offset", b"0"))
    forged = [(b"other", b"{}", [receipt, *reason]), (b"other", None, [receipt, *reason]), (b"other", b"{}", [receipt])]
    await write_topic(kafka, dlq, [(b"c1", b"{}", reason), *forged])
    letters = [letter async for letter in read_letters(Connection(kafka), dlq, Selection())]
    assert [letter.state for letter in letters] == ["new"] * 3


@pytest.mark.integration
async def test_a_replay_ends_one_that_is_still_going_on(kafka: str, unique: str) -> None:
    """The later one fences the earlier one, and what that had not committed is not there: no record comes twice."""
    dlq, tokens = f"dlq-{unique}", f"tokens-{unique}"
    await make_topics(kafka, dlq, tokens, partitions=1)
    headers = [("tm-error-code", b"orphan"), ("tm-source-topic", tokens.encode())]
    headers += [("tm-source-partition", b"0"), ("tm-source-offset", b"0")]
    await write_topic(kafka, dlq, [(b"c1", b"{}", headers)])
    connection = Connection(kafka)
    async with Replayer(connection, dlq, Target(), 1 << 20) as early:
        letters = [letter async for letter in read_letters(connection, dlq, Selection())]
        async with Replayer(connection, dlq, Target(), 1 << 20) as late:
            await late.publish(letters)
            with pytest.raises(Unavailable):
                await early.publish(letters)

    told: list[tuple[str, int, int]] = []

    async def replayed() -> bool:
        told.clear()
        letters = read_letters(connection, dlq, Selection(), lambda *how_far: told.append(how_far))
        return [letter.state async for letter in letters] == ["replayed"]

    await until(replayed, "readers see the transaction", 20)
    assert [record.value for record in await read_topic(kafka, tokens)] == [b"{}"]
    passes = {what: how_far for what, *how_far in told}
    assert list(passes) == ["reading receipts", "reading dead letters"]
    assert all(0 < done <= offsets for done, offsets in passes.values())


@pytest.mark.integration
async def test_what_can_not_be_published_takes_its_batch_with_it(kafka: str, unique: str) -> None:
    """A program that does not ask before is told which one it is, and may publish the others."""
    dlq, tokens = f"dlq-{unique}", f"tokens-{unique}"
    await make_topics(kafka, dlq, tokens, partitions=1)
    here, gone = _letter(Source(tokens, 0, 0)), _letter(Source(tokens, 1, 0))
    async with Replayer(Connection(kafka), dlq, Target(), 1 << 20) as replayer:
        assert [replayer.refusal(letter) for letter in (here, gone)] == ["", f"{tokens}/1 does not exist"]
        with pytest.raises(FatalError, match=f"{gone.name} can't be published: {tokens}/1 does not exist"):
            await replayer.publish([here, gone])
        assert await read_topic(kafka, tokens) == []


@pytest.mark.integration
async def test_a_replays_batches_are_small(kafka: str, unique: str) -> None:
    """Whatever the client is told: the topics' limits are not looked up."""
    for asked, size in (({}, 16_384), ({"max_batch_size": 1_000_000}, 16_384), ({"max_batch_size": 9_000}, 9_000)):
        async with Replayer(Connection(kafka, producer=asked), f"dlq-{unique}", Target(), 1 << 20) as replayer:
            assert replayer._producer is not None
            assert replayer._producer._message_accumulator._batch_size == size


@pytest.mark.integration
async def test_a_replay_does_not_wait_for_a_broker_for_ever(
    start_kafka: Callable[..., KafkaServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for its records nor for the end of what it had begun."""
    monkeypatch.setattr(dead_letters, "TRANSACTION_S", 0.5)
    monkeypatch.setattr(dead_letters, "ABORT_S", 0.5)
    broker = start_kafka()
    await make_topics(broker.bootstrap, "dlq", "tokens", partitions=1)
    async with Replayer(Connection(broker.bootstrap), "dlq", Target(), 1 << 20) as replayer:
        broker.freeze()
        try:
            with pytest.raises(Unavailable, match="publish dead letters again"):
                async with asyncio.timeout(10):
                    await replayer.publish([_letter(Source("tokens", 0, 0))])
        finally:
            broker.thaw()


@pytest.mark.integration
async def test_a_replay_that_does_not_begin_leaves_no_client(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has connected, and then nobody says what topics there are."""
    made: list[AIOKafkaProducer] = []

    class Kept(Replayer):
        def _client(self) -> AIOKafkaProducer:
            made.append(super()._client())
            return made[-1]

    async def unanswered(call: Any, what: str) -> None:
        call.close()
        raise Unavailable(what)

    monkeypatch.setattr(dead_letters, "deadline", unanswered)
    with pytest.raises(Unavailable, match="look up the topics"):
        async with Kept(Connection(kafka), f"dlq-{unique}", Target(), 1 << 20):
            pass
    assert [client._closed for client in made] == [True]
