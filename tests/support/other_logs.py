"""What tests of restores say: a commit that says something else, and what came of it, in short."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec
from aiokafka.structs import OffsetAndMetadata

from tests.support.rig import Rig, rigged, said, words
from tests.support.stage import Content, Stage
from tokenmill.partition import Mark
from tokenmill.store import MemoryStore


def codes_of(contents: Iterable[Content]) -> list[str]:
    """What events say, in short."""
    events = [json.loads(value or b"{}") for _, _, value, _ in contents]
    return [f"{event['message_id']} {event.get('code') or event['type']}" for event in events]


async def events_of(stage: Stage) -> list[Content]:
    """What is on the topic of events, partition by partition."""
    found = await stage.found()
    return [content for (topic, _), contents in found.items() if topic == stage.topics.events for content in contents]


async def committed_as(rig: Rig, **changes: Any) -> Mark:
    """Let the group's commit say something else; answers what it said."""
    mark = rig.lane().committed
    assert mark is not None
    wrong = msgspec.structs.replace(mark, **changes)
    await rig.engine.consumer.commit({rig.lane().topic_partition: OffsetAndMetadata(wrong.offset, wrong.encode())})
    return mark


async def spoken(stage: Stage, store: MemoryStore) -> None:
    """A message that is open, committed, and in the store; nobody owns the partition."""
    async with rigged(stage, store) as before:
        await before.live()
        await said(stage, *words("m", "one ", "two ", "three "))
        await before.settled(3)
        await before.snapshot()
