"""A client's way to the head, over a log in memory: wherever it begins, nothing is missing and nothing comes twice."""

import asyncio
from types import SimpleNamespace

import pytest

from tests.support.event_log import EventLog, frames_of, of, position_of, spoken, woven
from tests.support.readings import FAR, NOW, TEXT, chain, others, reading_of, shown, talk
from tokenmill.dialects import DIALECTS, Dialect, find_dialect
from tokenmill.dialects.native import NATIVE
from tokenmill.errors import Unavailable
from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.event_log.reading import RESTS, REWINDS, Gone, Lookback, Reading, Since, Start
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.event_log.window import Windows

OPENAI = find_dialect("openai")


@pytest.mark.exhaustive
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_reading_can_begin_behind_every_frame(dialect: Dialect) -> None:
    """With all of the log in the window, none of it, or half."""
    log = talk()
    frames = frames_of(log.entries(), dialect)
    for number, frame in enumerate(frames, 1):
        window = (0, None, frame.offset, log.end // 2)[number % 4]
        reading = reading_of(log, dialect, window)
        assert await shown(reading, position_of(frame)) == frames[number:]
        assert not reading.gap


async def test_what_is_published_again_from_far_back_is_shown_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a worker that begins at an old commit, before everything that a client that comes back has to read."""
    monkeypatch.setattr("tokenmill.gateway.event_log.reading.REPEATS_BEHIND", 5)
    log = EventLog([*of("c", spoken("old", "Rain.")), *others(20), *of("c", spoken("new", "Hi."))])
    log.repeat(0, len(log.records))
    for window in (0, None):
        assert await shown(reading_of(log, NATIVE, window), position_of(frames_of(log.entries(), NATIVE)[-1])) == []


@pytest.mark.parametrize("start", ["start", Position(0, 0, 0, 0)])
async def test_a_message_that_seems_older_than_the_one_before_it_is_shown_whole(start: Start) -> None:
    """The clocks of producers differ; that is no repeat, nor a gap."""
    log, ahead = EventLog(of("c", spoken("behind", "Rain."))), EventLog([*others(1), *of("c", spoken("ahead", TEXT))])
    log.records = [*ahead.records, *(each._replace(offset=each.offset + ahead.end) for each in log.records)]
    reading = reading_of(log, OPENAI)
    frames = await shown(reading, start)
    assert ([frame.message for frame in frames if frame.first], reading.gap) == ([b"ahead", b"behind"], False)


async def test_everything_is_everything_of_the_conversation() -> None:
    """And nothing of another one."""
    log = talk()
    assert await shown(reading_of(log, OPENAI), "start") == frames_of(log.entries(), OPENAI)
    assert await shown(reading_of(log, OPENAI, key=b"nobody"), "start") == []


async def test_how_far_back_everything_goes_is_bounded() -> None:
    """In records and in seconds; a message that was open there is shown from its beginning."""
    log = EventLog([*of("c", spoken("old", "Old.")), *others(20), *of("c", spoken("new", TEXT))])
    new = next(entry for entry in log.entries() if entry.message == b"new")
    expected = [frame for frame in frames_of(log.entries(), NATIVE) if frame.message == b"new"]
    inside = log.end - new.offset - 7
    for lookback in (Lookback(600, inside), Lookback((NOW - new.opened - 3) / 1_000, 1_000_000)):
        assert await shown(reading_of(log), "start", lookback) == expected
    assert await shown(reading_of(log), "start", Lookback(0, 1_000_000)) == []


async def test_a_position_that_says_too_much_costs_no_more_than_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its distance is the client's word. Where a true one is larger than the bound, the records say so themselves."""
    monkeypatch.setattr("tokenmill.gateway.event_log.reading.REPEATS_BEHIND", 5)
    log = EventLog([*others(30), *woven(of("c", spoken("m", TEXT)), others(30))])
    *_, frame = frames = frames_of(log.entries(), NATIVE)
    bound = Lookback(600, 5)
    reading = reading_of(log, window=0)
    assert await shown(reading, position_of(frame)._replace(back=frame.offset), bound) == []
    assert reading._began == frames[0].offset > bound.records
    for number, each in enumerate(frames, 1):
        assert await shown(reading_of(log), position_of(each), bound) == frames[number:]


async def test_who_is_led_back_again_and_again_is_shown_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message of a chain leads to the one before it: anybody may write one that is as long as the log."""
    monkeypatch.setattr("tokenmill.gateway.event_log.reading.REPEATS_BEHIND", 0)
    for count, whole in ((REWINDS, True), (3 * REWINDS, False)):
        reading = reading_of(chain(count))
        assert await shown(reading, "start", Lookback(600, 2)) != []
        assert (reading._began == 0) is whole


async def test_a_long_way_is_read_with_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A position may be made up. Where it leads further back than `start`, one follows each turn that finds nothing."""
    rests, turn_s = list[float](), 1e-9

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    monkeypatch.setattr("tokenmill.gateway.event_log.reading.asyncio", SimpleNamespace(sleep=rest))
    monkeypatch.setattr("tokenmill.gateway.event_log.reading.TURN_S", turn_s)  # a turn's time, at most
    log, start = EventLog([*of("c", spoken("m", TEXT)), *others(60)]), Position(0, 0, 0, 0)
    for records, expected in ((log.end, {0}), (log.end // 2, {0, RESTS * turn_s})):
        assert await shown(reading_of(log, window=log.end), start, Lookback(600, records)) != []
        assert {0, *rests} == expected


@pytest.mark.parametrize("window_at", [0, None])
async def test_now_is_what_comes_from_here_on(window_at: int | None) -> None:
    """With the state that messages have that are open: what comes of them is rendered as for those who saw it all."""
    log, said = EventLog(), of("c", spoken("m", TEXT))
    log.say(said[:9])
    whole, reading = EventLog(said), reading_of(log, OPENAI, window_at)
    assert await shown(reading, "now") == []
    standing = reading.standing
    assert standing == Position(0, log.end, 0, 0)
    log.say(said[9:])
    came = await shown(reading_of(log, OPENAI), standing)
    assert came == [frame for frame in frames_of(whole.entries(), OPENAI) if frame.offset >= standing.offset]


async def test_open_messages_are_shown_from_the_first_event_of_the_oldest() -> None:
    """Without those that are over, even where they lie between; if none is open, what comes then is shown."""
    first, then = (of("c", spoken(name, TEXT)[:-2]) for name in ("open", "later"))
    log = EventLog(woven([*of("c", spoken("over", "Hi.")), *others(3)], first, [*others(3), *then]))
    for dialect in (OPENAI, NATIVE):
        reading, frames = reading_of(log, dialect), frames_of(log.entries(), dialect)
        assert await shown(reading, "message") == [frame for frame in frames if frame.message != b"over"]
        assert reading.found == (b"open", b"later")
    begun = next(entry.offset for entry in log.entries() if entry.message == b"open")
    assert reading.standing == Position(0, begun, 0, 0)
    log = EventLog(of("c", spoken("over", "Hi.")))
    assert await shown(idle := reading_of(log), "message") == []
    assert idle.place < (log.end, 0)


async def test_the_message_that_began_last_of_those_that_are_open_is_known() -> None:
    """At the head, with the place in front of it: what follows that is read without looking further back."""
    first, second = (of("c", spoken(name, TEXT)[:-2]) for name in ("older", "newer"))
    log = EventLog([*first[:4], *woven(second, first[4:])])
    reading = reading_of(log, OPENAI)
    await shown(reading, "start")
    begun = next(entry.offset for entry in log.entries() if entry.message == b"newer")
    assert reading.latest_open() == (b"newer", Position(0, begun, 0, 0))
    idle = reading_of(EventLog(of("c", spoken("m", TEXT))))
    await shown(idle, "start")
    assert idle.latest_open() is None


async def test_a_beginning_that_lies_in_the_past_is_found_by_its_time() -> None:
    """Also where the record that leads there is read from the log itself, in the middle of a batch."""
    log = EventLog([*of("c", spoken("long", TEXT)[:8]), *others(40), *of("c", spoken("long", TEXT)[8:]), *others(40)])
    frames = frames_of(log.entries(), OPENAI)
    middle = next(frame for frame in frames if frame.offset > log.end // 3)
    start = Position(0, middle.offset, 0, 0)
    assert start.offset < log.end - 100
    for window in (0, None):
        reading = reading_of(log, OPENAI, window)
        assert await shown(reading, start) == [frame for frame in frames if frame.offset >= middle.offset]


async def test_a_time_is_where_its_first_record_is() -> None:
    """Whatever is remembered here, and however far back that is; behind the end nothing is missed either."""
    log = EventLog([*of("c", spoken("old", "Old.")), *others(20), *of("c", spoken("new", TEXT))])
    new = next(entry for entry in log.entries() if entry.message == b"new")
    expected = [frame for frame in frames_of(log.entries(), NATIVE) if frame.message == b"new"]
    for window in (0, None, new.offset + 5):
        assert await shown(reading_of(log, NATIVE, window), Since(new.opened), Lookback(0.001, 1)) == expected
        assert await shown(reading_of(log, NATIVE, window), Since(0)) == frames_of(log.entries(), NATIVE)
    assert await shown(reading_of(log), Since(NOW * 2)) == []


@pytest.mark.parametrize("wrong", [Position(0, 3, 1, 0), Position(0, 10**12, 1, 0), Position(0, 10**12, 0, 0)])
async def test_a_place_that_the_log_does_not_have_is_gone(wrong: Position) -> None:
    """Between two records, or behind the end: forged, or of a log that was."""
    log = talk()
    for window in (0, None):
        for place in (wrong, Position(0, log.end, 1, 0)):
            with pytest.raises(Gone):
                await shown(reading_of(log, NATIVE, window), place)


async def test_a_place_in_another_conversation_is_gone() -> None:
    """Whoever has the id of somebody else's frame gets nothing by it."""
    log = talk()
    theirs = frames_of(log.entries(), NATIVE, b"o1")
    for frame in theirs:
        with pytest.raises(Gone):
            await shown(reading_of(log), position_of(frame))


async def test_a_place_in_a_topic_that_was_made_anew_is_gone() -> None:
    """Where another event of the same conversation is there now."""
    log, anew = EventLog(of("c", spoken("old", TEXT))), EventLog(of("c", spoken("new", TEXT)))
    for frame in frames_of(log.entries(), NATIVE):
        with pytest.raises(Gone):
            await shown(reading_of(anew), position_of(frame))


@pytest.mark.exhaustive
@pytest.mark.parametrize("other", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_place_is_one_in_every_dialect(other: Dialect) -> None:
    """Each makes more or fewer frames of a record, or none: what is behind the record is shown once, and whole."""
    log = talk()
    whole = frames_of(log.entries(), other)
    for window in (0, None):
        for frame in frames_of(log.entries(), NATIVE):
            reading = reading_of(log, other, window)
            came = await shown(reading, position_of(frame)._replace(part=9))
            assert came == [each for each in whole if each.offset > frame.offset]
            assert not reading.gap


async def test_a_place_that_retention_passed_is_gone() -> None:
    """The record itself. Without the beginning of its message, which a dialect needs to go on, there is a gap."""
    log = EventLog([*others(600), *of("c", spoken("m", TEXT)), *others(3)])
    frames = frames_of(log.entries(), OPENAI)
    at = frames[len(frames) // 2]
    log.first = at.offset + 1
    for place in (position_of(at), Position(0, at.offset, 0, 0)):
        with pytest.raises(Gone):
            await shown(reading_of(log, OPENAI), place)
    log.first = at.offset - at.back + 2
    reading = reading_of(log, OPENAI)
    assert [(frame.payload, frame.last) for frame in await shown(reading, position_of(at))] == [(b"", True)]
    assert reading.gap
    native = reading_of(log)
    after = [entry.value for entry in log.entries() if entry.offset > at.offset and entry.key == b"c"]
    assert [frame.payload for frame in await shown(native, position_of(at)._replace(part=1))] == after
    assert not native.gap


async def test_a_message_without_its_beginning_is_a_gap() -> None:
    """Its readers are told; what can be said is said, and messages behind it are whole."""
    log = EventLog([*of("c", spoken("m", TEXT)), *of("c", spoken("n", TEXT))])
    log.first = 12
    reading, native = reading_of(log, OPENAI), reading_of(log)
    frames = await shown(reading, "start")
    await shown(native, "start")
    assert (reading.gap, native.gap) == (True, True)
    assert [frame.payload for frame in frames if frame.message == b"m"] == [b""]
    behind = [frame for frame in frames if frame.message == b"n"]
    assert behind == [frame for frame in frames_of(log.entries(len(log.records)), OPENAI) if frame.message == b"n"]


@pytest.mark.parametrize("dialect", [NATIVE, OPENAI], ids=lambda dialect: dialect.name)
async def test_retention_that_comes_to_a_reader_is_a_gap(dialect: Dialect) -> None:
    """It deletes what the reader was about to read; who begins there sees the same."""
    log = EventLog(of("c", spoken("m", "0123456789" * 20)))
    whole = frames_of(log.entries(), dialect)
    reading = reading_of(log, dialect)
    await reading.begin(position_of(whole[2]), FAR, NOW)
    got = list[Frame]()
    async for frames in reading.frames():
        got += frames
        if len(got) > 10 and not log.first:
            shown_before, log.first = len(got), log.end // 2
    assert reading.gap
    behind = await shown(reading_of(log, dialect), Position(0, log.first, 0, 0))
    assert [frame.payload for frame in got[shown_before:]] == [frame.payload for frame in behind]


@pytest.mark.parametrize("message", [b"", b"one"])
async def test_messages_that_vanish_before_they_are_read_are_a_gap(message: bytes) -> None:
    """Nothing of them is there that would tell of it. Of a message that was read to its end nothing is missing."""
    texts = {"one": "One.", "two": TEXT, "three": "Three."}
    log = EventLog([chunk for name, text in texts.items() for chunk in of("c", spoken(name, text))])
    three = next(entry.offset for entry in log.entries() if entry.message == b"three")
    reading = Reading(log, log.window(), b"c", NATIVE, 0, message)  # type: ignore[arg-type] # reads like `LogReaders`
    await reading.begin(Position(0, 0, 0, 0), FAR, NOW)
    got = list[Frame]()
    async for frames in reading.frames():
        got += frames
        if b"one" in reading.view.ended():
            log.first = three
    assert {frame.message for frame in got[-3:]} == {b"three"}
    assert reading.gap is not bool(message)


async def test_an_event_that_is_missing_is_a_gap() -> None:
    """The numbers of a message's events have no hole but where some are gone."""
    for message, gap in ((b"", True), (b"m", True), (b"other", False)):
        log = EventLog(woven(of("c", spoken("m", TEXT)), of("c", spoken("other", TEXT))))
        lost = [record for record in log.records if dict(record.headers)["tm-message-id"] == b"m"][3]
        log.records.remove(lost)
        reading = Reading(log, log.window(), b"c", NATIVE, 0, message)  # type: ignore[arg-type] # reads like `LogReaders`
        frames = await shown(reading, "start")
        assert (len(frames), reading.gap) == (len(log.records), gap)


@pytest.mark.parametrize("lost", [False, True])
async def test_a_gap_of_another_message_is_none_of_the_one_that_is_wanted(lost: bool) -> None:
    """Of two answers at once only the earlier one's beginning lies before the time that is asked for, or is lost."""
    first, second = (of("c", spoken(name, f"Rain. {TEXT}")) for name in ("first", "second"))
    log = EventLog([*first[:4], *woven(second, first[4:])])
    begun = next(entry for entry in log.entries() if entry.message == b"second")
    expected = [frame for frame in frames_of(log.entries(), OPENAI) if frame.message == b"second"]
    log.first = begun.offset if lost else 0
    gaps = dict[bytes, bool]()
    for message in (b"", b"first", b"second"):
        reading = Reading(log, log.window(), b"c", OPENAI, 0, message)  # type: ignore[arg-type] # reads like `LogReaders`
        frames = await shown(reading, Since(begun.opened))
        assert [frame.payload for frame in frames if frame.message == b"second"] == [each.payload for each in expected]
        gaps[message] = reading.gap
    assert gaps == {b"": True, b"first": True, b"second": False}


async def test_who_saw_only_the_repeat_goes_on_behind_it() -> None:
    """It came between a record and its repeat; with the id of the repeat it is not sent what it has, nor denied."""
    said = of("c", spoken("m", TEXT))
    log = EventLog(said[:9])
    log.repeat(0, len(log.records))
    again = log.records[len(log.records) // 2].offset
    log.say(said[9:])
    frames = frames_of([entry for entry in log.entries() if entry.offset >= again], OPENAI)
    for number, frame in enumerate(frames, 1):
        came = await shown(reading_of(log, OPENAI), position_of(frame))
        assert [(each.place, each.payload) for each in came] == [(each.place, each.payload) for each in frames[number:]]


async def test_what_another_gateway_has_read_already_is_waited_for() -> None:
    """A client that comes from a gateway whose reader was ahead loses nothing."""
    log, windows = talk(), Windows(1 << 30, 1e9)
    frames = frames_of(log.entries(), NATIVE)
    window, there = windows.open(0, 0), frames[-3].offset
    windows.add(0, [entry for entry in log.entries() if entry.offset < there], there, 0)
    reading = Reading(log, window, b"c", NATIVE, 0)  # type: ignore[arg-type] # reads like `LogReaders`
    coming = asyncio.create_task(shown(reading, position_of(frames[-2])))
    await asyncio.sleep(0)
    windows.add(0, log.entries(there), log.end, 0)
    assert await coming == frames[-1:]


async def test_a_reader_that_does_not_come_there_is_said_to_be_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the client is better off with another gateway."""
    monkeypatch.setattr("tokenmill.gateway.event_log.conversation.BEHIND_S", 0.05)
    log = talk()
    window = log.window(log.end)
    window.first = window.end = 0
    with pytest.raises(Unavailable, match="was not read up to offset"):
        await shown(
            Reading(log, window, b"c", NATIVE, 0),  # type: ignore[arg-type] # reads like `LogReaders`
            position_of(frames_of(log.entries(), NATIVE)[-1]),
        )


@pytest.mark.parametrize(("start", "gap"), [("now", False), (Since(NOW * 2), True)])
async def test_a_reading_goes_back_for_a_message_that_began_earlier(start: Start, gap: bool) -> None:
    """What was shown is not shown again, and repeats of it are known. Who wants all of it is told of a gap."""
    said = of("c", spoken("m", TEXT))
    log = EventLog([*said[:4], *others(3)])
    window = log.window(log.end)
    reading = Reading(log, window, b"c", OPENAI, 0)  # type: ignore[arg-type] # reads like `LogReaders`
    assert await shown(reading, start) == []
    place, since = (log.end - 1, 1), log.end
    log.say(said[4:])
    log.repeat(-5)
    window.first = window.end = log.end
    await reading.go_back(place, log.entries()[0].opened, b"m")
    came = [frame async for frames in reading.frames() for frame in frames]
    assert (came, reading.gap) == ([each for each in frames_of(log.entries(), OPENAI) if each.offset >= since], gap)


@pytest.mark.parametrize("known", [False, True])
async def test_one_that_can_not_go_back_goes_on_without(known: bool) -> None:
    """The log has lost the beginning meanwhile, or nobody knows when that was."""
    log = EventLog(of("c", spoken("m", TEXT)))
    opened = log.entries()[0].opened if known else -1
    log.first = 12
    reading = reading_of(log, OPENAI)
    assert await shown(reading, "now") == []
    await reading.go_back((10, 1), opened, b"m")
    frames = [frame async for frames in reading.frames() for frame in frames]
    assert [(frame.payload, frame.last) for frame in frames] == [(b"", True)]
    assert reading.gap


async def test_who_came_back_behind_an_end_is_answered() -> None:
    """There is nothing more until another message begins."""
    log = EventLog(of("c", spoken("m", TEXT)))
    frames = frames_of(log.entries(), OPENAI)
    reading = reading_of(log, OPENAI)
    assert await shown(reading, position_of(frames[-1])) == []
    assert reading.answered
    open_ = reading_of(EventLog(of("c", spoken("m", TEXT)[:-1])), OPENAI)
    await shown(open_, position_of(frames[3]))
    assert not open_.answered
    fresh, led = reading_of(log, OPENAI), reading_of(log, OPENAI)
    assert await shown(fresh, "now") == await shown(led, reading.led_on()) == []
    assert [each.answered for each in (fresh, led)] == [False, True]
    all_of_m = [(each, each.has_all(b"m"), each.has_all(b"other")) for each in (reading, open_, fresh, led)]
    assert all_of_m == [(reading, True, False), (open_, False, False), (fresh, False, False), (led, True, True)]


async def test_one_whose_window_is_dropped_is_lost() -> None:
    """The log is another one now."""
    reading = reading_of(talk())
    before = reading.lost
    reading._records._window.dropped = True
    assert (before, reading.lost) == (False, True)
