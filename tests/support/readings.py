"""Readings over a log in memory, for tests of what they show."""

from tests.support.event_log import START_MS, EventLog, Said, of, spoken, woven
from tokenmill.dialects import Dialect
from tokenmill.dialects.native import NATIVE
from tokenmill.gateway.event_log.reading import Lookback, Reading, Start
from tokenmill.gateway.event_log.view import Frame

TEXT = '<think>Hm.</think>Rain.\n<tool_call>\n{"name": "now", "arguments": {"a": "b c"}}\n</tool_call> Done.'

NOW = START_MS + 1_000

FAR = Lookback(600, 1_000_000)


def others(count: int) -> list[Said]:
    """Other conversations of the partition."""
    return [chunk for number in range(count) for chunk in of(f"o{number}", spoken("x", "No."))]


def chain(count: int) -> EventLog:
    """Messages of which each begins before the one in front of it ends."""
    begun = [("c", {"message_id": f"m{number}", "delta": "Hi."}) for number in range(count)]
    ended = [("c", {"message_id": f"m{number}", "end": True}) for number in range(count)]
    return EventLog([begun[0], *(each for two in zip(begun[1:], ended, strict=False) for each in two), ended[-1]])


def talk() -> EventLog:
    """Messages one after the other and at the same time, with two choices, among others."""
    said = woven(
        [*of("c", spoken("one", TEXT)), *of("c", spoken("two", "Hi."))],
        [*others(5), *of("c", spoken("three", TEXT, choice=1))],
        [*others(3), *of("c", spoken("three", TEXT, step=3))],
        others(30),
    )
    return EventLog(said)


def reading_of(log: EventLog, dialect: Dialect = NATIVE, window: int | None = None, key: bytes = b"c") -> Reading:
    return Reading(log, log.window(window), key, dialect, 0)  # type: ignore[arg-type] # reads like `LogReaders`


async def shown(reading: Reading, start: Start, lookback: Lookback = FAR) -> list[Frame]:
    await reading.begin(start, lookback, NOW)
    return [frame async for frames in reading.frames() for frame in frames]
