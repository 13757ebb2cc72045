"""Requests that a caller finds when it comes: more than it holds at once are taken in turns, and each is answered."""

import asyncio
from collections.abc import AsyncIterator
from unittest.mock import Mock

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.caller.desk import LEASE_S, Desk, inherited, request
from tests.caller.model import Model
from tests.support.stage import until
from tests.support.watching import Watching
from tokenmill.caller import caller as callers
from tokenmill.caller.caller import Caller
from tokenmill.caller.offsets import Offsets
from tokenmill.config import Caller as Settings
from tokenmill.observe import CALLER_METRICS, Numbers

BEHIND, AHEAD = TopicPartition("requests", 0), TopicPartition("requests", 1)


@pytest.fixture
async def desk(kafka: str, unique: str) -> AsyncIterator[Desk]:
    """Topics of the test's own."""
    async with Model({}) as model, Desk(kafka, unique, model.url).open() as desk:
        yield desk


def caller_of(desk: Desk) -> Caller:
    """A caller in this process, of a group of its own."""
    settings = Settings(lease_s=LEASE_S, group_id=f"callers of {desk.topics.requests}")
    config = msgspec.structs.replace(desk.config, caller=settings)
    return Caller(config, desk.resources(), Watching().finishes, Numbers(CALLER_METRICS))


@pytest.mark.integration
async def test_more_than_are_held_at_once_are_answered(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one is enough, each poll is settled by itself."""
    monkeypatch.setattr(callers, "INHERITED_BYTES", 0)
    wanted = {f"{talk}-{number}" for talk in ("a", "b", "c") for number in range(3)}
    for message in sorted(wanted):
        await desk.ask(request(message), conversation=message[0])
    stop = asyncio.Event()
    running = asyncio.create_task(caller_of(desk).run(stop))

    async def answered() -> bool:
        return {message for message, said in (await desk.told()).items() if said[-1].endswith("]")} == wanted

    await until(answered, "all are answered", 120)
    stop.set()
    await running


async def test_no_more_are_read_while_enough_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a partition whose inherited requests were all read, the later ones are; the others follow."""
    caller, consumer = caller_of(Desk("nowhere:9092", "x", "http://nowhere")), Mock(AIOKafkaConsumer)
    caller._offsets = {BEHIND: Offsets(0, 2), AHEAD: Offsets(0, 0)}
    caller._inherited.add(BEHIND, inherited("m1"))
    held = caller._inherited.held_bytes
    monkeypatch.setattr(callers, "INHERITED_BYTES", held - 1)
    consumer.paused.return_value = set()
    assert caller._hold(consumer)
    consumer.pause.assert_called_once_with(BEHIND)
    monkeypatch.setattr(callers, "INHERITED_BYTES", held)
    consumer.paused.return_value = {BEHIND, AHEAD}
    assert not caller._hold(consumer)
    consumer.resume.assert_called_once_with(BEHIND)
