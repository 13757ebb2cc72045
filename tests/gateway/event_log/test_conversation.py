"""A conversation's records, from the window and from before it."""

from collections.abc import Callable

import pytest

from tests.support.event_log import START_MS, EventLog, frames_of, of, position_of, spoken, woven
from tokenmill.dialects.native import NATIVE
from tokenmill.gateway.event_log.conversation import Conversation
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.reading import Lookback, Reading, Start
from tokenmill.gateway.event_log.view import Frame

SOON = 3


@pytest.mark.parametrize("window", [0, None], ids=["from the window", "from the log"])
@pytest.mark.parametrize("start", [lambda _: "start", position_of], ids=["start", "position"])
async def test_the_first_frames_are_there_soon(
    monkeypatch: pytest.MonkeyPatch, start: Callable[[Frame], Start], window: int | None
) -> None:
    """The first turn takes few records behind the place, the next ones what they can; none is left out."""
    monkeypatch.setattr("tokenmill.gateway.event_log.conversation.FIRST_RECORDS", SOON)
    log = EventLog(of("c", spoken("m", "a" * 200)))
    frames = frames_of(log.entries(), NATIVE)
    begin = start(frames[20])
    reading = Reading(log, log.window(window), b"c", NATIVE, 0)  # type: ignore[arg-type] # reads like `LogReaders`
    await reading.begin(begin, Lookback(600, 1_000_000), START_MS + 1_000)
    first, *others = [batch async for batch in reading.frames() if batch]
    assert len(first) <= SOON < len(others[0])
    assert [*first, *(frame for batch in others for frame in batch)] == frames[
        21 if isinstance(begin, Position) else 0 :
    ]


@pytest.mark.parametrize("window", [0, 20, None], ids=["in the window", "half of it", "in the log"])
async def test_records_are_told_from_others(window: int | None) -> None:
    """Those of the conversation, where they are and nowhere else; what is not there yet, or any more, is known."""
    log = EventLog(woven(of("c", spoken("m", "Hello.")), of("d", spoken("n", "Hello."))))
    records = Conversation(log, log.window(window), b"c", 0)  # type: ignore[arg-type] # reads like `LogReaders`
    own = {entry.offset for entry in log.entries() if entry.key == b"c"}
    assert {offset for offset in range(log.end) if await records.at(offset)} == own
    assert not await records.ends_before(log.end)
    assert await records.ends_before(log.end + 1)
    log.say(of("c", spoken("later", "Hello.")))  # which our reader has not polled
    assert [await records.ends_before(offset) for offset in (log.end, log.end + 1)] == [False, True]
    assert [await records.there(offset) for offset in (-5, 0, 30)] == [0, 0, 30]
    log.first = 10
    assert await records.there(4) == (4 if window == 0 else 10)
    assert (await records.at(0) is not None) == (window == 0)


async def test_a_reading_ends_where_the_window_does() -> None:
    """The log has committed records that our reader has not polled: whoever is at the head is told of them by it."""
    said = of("c", spoken("m", "Hello, and more of it."))
    log = EventLog(said[:3])
    window = log.window()
    log.say(said[3:])
    reading = Reading(log, window, b"c", NATIVE, 0)  # type: ignore[arg-type] # reads like `LogReaders`
    await reading.begin("start", Lookback(600, 1_000_000), START_MS + 1_000)
    got = [frame async for batch in reading.frames() for frame in batch]
    assert got == [frame for frame in frames_of(log.entries(), NATIVE) if frame.offset < window.end]
