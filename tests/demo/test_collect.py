"""Collecting events while they come."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast

import msgspec
import pytest

from tokenmill.demo.collect import Collector
from tokenmill.errors import FatalError
from tokenmill.events import AnyEvent, Finish, MessageStart
from tokenmill.records import InputRecord


class Script:
    """Delivers events like a follower, then waits for ever."""

    def __init__(self, *events: AnyEvent) -> None:
        self._events = events

    async def records(self) -> AsyncGenerator[InputRecord]:
        for offset, event in enumerate(self._events):
            yield InputRecord("events", 0, offset, 0, b"", msgspec.json.encode(event))
        await asyncio.Event().wait()


async def collected(*events: AnyEvent, wait_for: set[str], seconds: float = 20) -> tuple[Collector, list[AnyEvent]]:
    watched: list[AnyEvent] = []
    collector = Collector(cast("Any", Script(*events)), watched.append)
    reading = asyncio.create_task(collector.run())
    try:
        await collector.wait_for(wait_for, seconds)
    finally:
        reading.cancel()
    return collector, watched


def message(conversation: str) -> tuple[AnyEvent, AnyEvent]:
    return MessageStart("", "plain", conversation_id=conversation), Finish("stop", conversation_id=conversation)


async def test_events_are_kept_by_conversation_and_counted() -> None:
    """Whoever watches sees each one when it comes."""
    events = [*message("c1"), *message("c2")]
    collector, watched = await collected(*events, wait_for={"c1", "c2"})
    assert collector.events == {"c1": list(message("c1")), "c2": list(message("c2"))}
    assert collector.types == {"message-start": 2, "finish": 2}
    assert watched == events
    assert len(collector.latencies_ms) == len(events)


async def test_it_is_told_how_many_have_finished() -> None:
    """Of those that are waited for."""
    told: list[int] = []
    collector = Collector(cast("Any", Script(*message("c1"), *message("other"), *message("c2"))), lambda _: None)
    reading = asyncio.create_task(collector.run())
    await collector.wait_for({"c1", "c2"}, 5, told.append)
    reading.cancel()
    assert told == [2]


async def test_who_does_not_finish_in_time_is_named() -> None:
    """The demo never hangs."""
    with pytest.raises(FatalError, match="finish event within 0 s of: c2"):
        await collected(
            *message("c1"), MessageStart("", "plain", conversation_id="c2"), wait_for={"c1", "c2"}, seconds=0.1
        )
