"""A conversation's records in, frames out: repeats dropped, beginnings asked for, ends known."""

from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.answers import own_answers
from tests.conformance.test_rendering import published
from tests.support.event_log import EventLog, frames_of, of, spoken, woven
from tests.support.scenarios import SCENARIOS, STARTED_MS, rendered
from tokenmill.dialects import DIALECTS, Dialect, Renderer, find_dialect
from tokenmill.dialects.native import NATIVE
from tokenmill.events import Error, Event, Finish, decode_event
from tokenmill.formats import FORMATS
from tokenmill.gateway.event_log.entry import Entry
from tokenmill.gateway.event_log.view import ATTEMPTS_KEPT, ENDED_KEPT, GIVEN_UP_KEPT, Frame, View
from tokenmill.parser import Options

TEXT = '<think>Hm.</think>Rain.\n<tool_call>\n{"name": "now", "arguments": {"a": "b c"}}\n</tool_call> Done.'

SPACED = """<think>Hm.  \n Yes. </think>  \n Let  me \n\n see \u2003. \n
<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call> \n\n And   now \n
<tool_call>\n{"name": "now", "arguments": {"a": "b   c"""
"""With a call that is cut off."""

LONGEST = 1_500

ANSWERS = 6

OPENAI = find_dialect("openai")


def payloads(frames: list[Frame]) -> list[bytes]:
    return [frame.payload for frame in frames if frame.payload]


def numbered(events: list[Event], opened: int = STARTED_MS) -> list[Entry]:
    """Events of one message as entries, at even offsets."""
    return [
        Entry(0, 2 * at, b"c", msgspec.json.encode(event), b"m", seq=at, opened=opened)
        for at, event in enumerate(events)
    ]


def resumed(came: list[Entry], dialect: Dialect, at: Frame) -> list[Frame]:
    """What a view shows behind a frame if it begins where the frame's id says."""
    view, frames = View(dialect, 0), list[Frame]()
    for entry in came:
        if at.offset - at.back <= entry.offset < at.offset:
            view.pass_by(entry)
        elif entry.offset >= at.offset:
            frames += [frame for frame in view.take(entry) if frame.place > at.place]
    return frames


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_view_shows_what_the_dialect_makes_of_the_events(dialect: Dialect) -> None:
    """The same bytes in the same order, for everything that can happen in a message."""
    for name, scenario in SCENARIOS.items():
        made = rendered(scenario, dialect.name)
        frames = frames_of(numbered(list(made.events)), dialect)
        assert payloads(frames) == made.payloads, name
        assert [frame.last for frame in frames] == [*[False] * (len(frames) - 1), True], name
        assert [frame.first for frame in frames] == [True, *[False] * (len(frames) - 1)], name
        assert [frame.ends for frame in frames] == [*[False] * (len(frames) - 1), True], name


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_conversation_can_be_cut_at_every_frame(dialect: Dialect) -> None:
    """Messages one after the other, at the same time, and with two choices: behind any id comes the rest, once."""
    said = woven(
        [*of("c", spoken("one", TEXT)), *of("c", spoken("two", "Hi."))],
        [*of("c", spoken("three", TEXT, choice=1)), *of("other", spoken("x", "No."))],
        of("c", spoken("three", TEXT, step=3)),
    )
    came = [entry for entry in EventLog(said).entries() if entry.key == b"c"]
    frames = frames_of(came, dialect)
    for number, frame in enumerate(frames, 1):
        assert resumed(came, dialect, frame) == frames[number:]


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_pieces_that_dialects_remember_are_not_passed_by_unread(dialect: Dialect, step: int) -> None:
    """White space that may stand beside a call, and the text of a call that was cut off, are state of some."""
    said = woven(of("c", spoken("m", SPACED, step=step)), of("c", spoken("m", SPACED[:60], step=step + 1, choice=1)))
    came = EventLog(said).entries()
    frames = frames_of(came, dialect)
    for number, frame in enumerate(frames, 1):
        assert resumed(came, dialect, frame) == frames[number:]


@cache
def recorded(format_name: str) -> list[list[Event]]:
    """The events of some recorded answers."""
    answers = [answer for answer in own_answers(format_name) if len(answer.text) < LONGEST][:ANSWERS]
    topics = (published(answer.text, answer.grammar.options) for answer in answers)
    return [[decode_event(value) for value in topic["events"]] for topic in topics]


@pytest.mark.slow
@pytest.mark.parametrize("format_name", [format_.name for format_ in FORMATS])
@settings(max_examples=10)
@given(data=st.data())
def test_answers_of_every_format_can_be_cut_anywhere(format_name: str, data: st.DataObject) -> None:
    """Recorded answers, any dialect, any number of cuts: the pieces are the whole."""
    events = data.draw(st.sampled_from(recorded(format_name)))
    dialect = data.draw(st.sampled_from(DIALECTS))
    came, reader = numbered(events), Renderer(dialect)
    whole = frames_of(came, dialect)
    pieces: list[Frame] = whole[: data.draw(st.integers(1, len(whole)))]
    while len(pieces) < len(whole):
        pieces += resumed(came, dialect, pieces[-1])[: data.draw(st.integers(1, len(whole)))]
    assert pieces == whole
    assert payloads(whole) == [each for event in events for each in reader.render(event)]


def test_a_message_published_again_is_shown_once() -> None:
    """All of it or its end, at later offsets, with new records behind it."""
    log = EventLog(of("c", spoken("m", TEXT)[:-3]))
    log.repeat(2)
    log.repeat(0)
    log.say(of("c", spoken("m", TEXT)[-3:]))
    log.repeat(-4)
    once = EventLog(of("c", spoken("m", TEXT)))
    assert payloads(frames_of(log.entries(), OPENAI)) == payloads(frames_of(once.entries(), OPENAI))
    view, said = View(OPENAI, 0), log.entries()[:5]
    for entry, repeated in [(said[0], False), (said[0], True), (said[1], False), (said[1], True)]:
        view.take(entry)
        assert view.repeated is repeated


def test_a_message_s_id_may_be_used_again() -> None:
    """By another attempt at the answer, told by the time at which it began; repeats of either are dropped."""
    log = EventLog(of("c", spoken("m", "One.")))
    first = len(log.records)
    assert first
    again = EventLog(of("c", [{"message_id": "x", "delta": "."}, *spoken("m", "Two, and longer.")]))
    for record in again.records:
        if dict(record.headers)["tm-message-id"] == b"m":
            log.records.append(record._replace(offset=log.end))
    log.repeat(0)
    texts = "".join(
        msgspec.json.decode(payload).get("delta", "") for payload in payloads(frames_of(log.entries(), NATIVE))
    )
    assert texts == "One.Two, and longer."


@pytest.mark.parametrize("dialect", [NATIVE, OPENAI], ids=lambda dialect: dialect.name)
def test_what_is_passed_by_counts_as_what_is_shown(dialect: Dialect) -> None:
    """Repeats, also of an earlier use of an id, and a use that did not end: from everywhere on the rest follows."""
    log = EventLog([("c", {"message_id": "n", "delta": "."}), *of("c", spoken("m", "Begun, no more."))[:-1]])
    log.repeat(-2)
    again = EventLog([("c", {"message_id": f"n{number}", "delta": "."}) for number in range(9)])
    before = again.end
    again.say(of("c", spoken("m", "And again.")))
    for record in (record for record in again.records if record.offset >= before):
        log.records.append(record._replace(offset=log.end))
        log.repeat(-1)
    log.repeat(0)
    came = log.entries()
    whole = frames_of(came, dialect)
    for number in range(len(came)):
        view, frames = View(dialect, 0), list[Frame]()
        for entry in came[:number]:
            view.pass_by(entry)
        for entry in came[number:]:
            frames += view.take(entry)
            assert (view.missing, view.jumped) == (None, False)
        assert frames == [frame for frame in whole if frame.offset >= came[number].offset]


def test_of_earlier_uses_of_an_id_the_latest_are_remembered() -> None:
    """A program may give all of its answers the same one."""
    view, offset = View(NATIVE, 0), 0
    for attempt in range(3 * ATTEMPTS_KEPT):
        for entry in EventLog(of("c", spoken("m", "x"))).entries():
            frames = view.take(msgspec.structs.replace(entry, offset=offset, opened=STARTED_MS + attempt))
            assert len(frames) == 1
            offset += 1
    assert {len(known.before) for known in view._known.values()} == {ATTEMPTS_KEPT}


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each is not NATIVE], ids=lambda dialect: dialect.name)
def test_a_record_without_its_beginning_is_missed(dialect: Dialect) -> None:
    """With its message, and the time at which that began; the view takes it when the beginning is given up."""
    came = EventLog(of("c", spoken("m", TEXT))).entries()
    view, seen = View(dialect, 0), list[object]()
    seen += [*view.take(came[4]), view.missing, view.misses]
    view.give_up()
    seen += [view.missing, view.misses, *view.take(came[4]), view.whole]
    assert seen == [came[0].opened, b"m", None, b"", False]
    (end,) = [frame for entry in came[5:] for frame in view.take(entry)]
    assert (end.payload, end.last, view.whole) == (b"", True, True)


def test_of_beginnings_that_are_gone_the_latest_are_remembered() -> None:
    """A stream may last for months; a message that is open goes on without its own."""
    view = View(NATIVE, 0)
    came = EventLog(of("c", spoken("m", TEXT))).entries()
    for number in range(GIVEN_UP_KEPT + 9):
        lost = [msgspec.structs.replace(entry, message=b"m%d" % number) for entry in came[4:6]]
        assert view.take(lost[0]) == ()
        view.give_up()
        assert [frame.payload for entry in lost for frame in view.take(entry)] == [entry.value for entry in lost]
    assert len(view.given_up) == GIVEN_UP_KEPT
    assert (b"m9", b"0", came[0].opened) == view.given_up[0]
    assert view.take(msgspec.structs.replace(came[6], message=b"m0"))


def test_without_its_beginning_a_message_is_still_shown_as_it_is() -> None:
    """Native events need no state."""
    came = EventLog(of("c", spoken("m", TEXT))).entries()
    view = View(NATIVE, 0, frozenset({(b"m", b"0", came[0].opened)}))
    assert [frame.payload for entry in came[4:] for frame in view.take(entry)] == [entry.value for entry in came[4:]]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_end_of_a_message_whose_state_was_lost_is_said_once(dialect: Dialect) -> None:
    """To those who saw its beginning and to those who did not; a worker may say it again."""
    begun = numbered([decode_event(each) for each in published("Hello", own_options())["events"][:3]])
    notices: list[Event] = [Error("state-lost", "gone"), Finish("error")]
    said = [
        Entry(0, 100 + at, b"c", msgspec.json.encode(event), b"m", opened=STARTED_MS)
        for at, event in enumerate([notices[0], *notices, *notices])
    ]
    for came in ([*begun, *said], said):
        frames = [frame for frame in frames_of(came, dialect) if frame.offset >= 100]
        assert {frame.offset for frame in frames} <= {100, 102}
        assert [frame.last for frame in frames] == [*[False] * (len(frames) - 1), True]


def test_a_message_whose_state_was_lost_may_go_on() -> None:
    """A worker that has found it publishes the rest, each event of which is shown."""
    events = numbered([decode_event(each) for each in published("Hello", own_options())["events"]])
    said = [Entry(0, 100, b"c", msgspec.json.encode(Finish("error")), b"m", opened=STARTED_MS), *events[2:]]
    view, shown = View(NATIVE, 0), list[bytes]()
    for entry in (*events[:2], *said):
        frames = view.take(entry)
        if view.missing is not None:  # its beginning belongs to what is over
            view.give_up()
            frames = view.take(entry)
        shown += payloads([*frames])
    assert shown == [entry.value for entry in (*events[:2], *said)]


def own_options() -> Options:
    return next(own_answers("hermes")).grammar.options


def test_what_is_open_is_known_by_its_first_record() -> None:
    """Of two choices, the earlier one's."""
    log = EventLog(woven(of("c", spoken("a", TEXT)), of("c", spoken("b", TEXT)), of("c", spoken("b", TEXT, choice=1))))
    view, came = View(NATIVE, 0), log.entries()
    for entry in came[:12]:
        view.take(entry)
    first = {entry.message: entry.offset for entry in reversed(came)}
    assert view.open_since() == first
    assert view.messages() == {b"a", b"b"}
    for entry in came[12:]:
        view.take(entry)
    assert (view.idle, view.open_since()) == (True, {})


def test_the_last_frame_is_the_one_behind_which_nothing_is_open() -> None:
    """The end of one of two messages is not the end, nor is that of one of two choices the end of its message."""
    said = woven(of("c", spoken("a", "x")), of("c", spoken("b", TEXT)), of("c", spoken("b", TEXT * 2, choice=1)))
    frames = frames_of(EventLog(said).entries(), NATIVE)
    ends = [(frame.message, frame.ends, frame.last) for frame in frames if b'"type":"finish"' in frame.payload]
    assert ends == [(b"a", True, False), (b"b", False, False), (b"b", True, True)]
    assert [frame.ends for frame in frames].count(True) == 2


def test_an_id_reaches_back_to_the_oldest_message_that_is_open() -> None:
    """And no further: whoever comes back with it reads no more than that."""
    came = EventLog(woven(of("c", spoken("a", "x")), of("c", spoken("b", TEXT)))).entries()
    begin = {entry.message: entry.offset for entry in reversed(came)}
    end = {entry.message: entry.offset for entry in came}
    oldest = [begin[b"a"] if entry.offset <= end[b"a"] else begin[b"b"] for entry in came]
    frames = frames_of(came, NATIVE)
    assert [frame.offset - frame.back for frame in frames] == oldest
    assert [frame.mark for frame in frames] == [entry.mark for entry in came]


def test_of_ended_messages_the_latest_are_remembered() -> None:
    """A repeat comes soon or never; open ones are never forgotten."""
    said = [chunk for number in range(ENDED_KEPT + 9) for chunk in of("c", spoken(f"m{number}", "x"))]
    view = View(NATIVE, 0)
    for entry in EventLog([*of("c", spoken("open", "x")[:1]), *said]).entries():
        view.take(entry)
    assert len(view.messages()) <= ENDED_KEPT + 2
    assert b"open" in view.messages()
    assert b"m0" not in view.messages()


def test_a_view_that_began_earlier_knows_more() -> None:
    """Of two that have read the same log up to the same place."""
    came = EventLog([*of("c", spoken("a", "x")), *of("c", spoken("b", "x"))]).entries()
    earlier, later = View(NATIVE, 0), View(NATIVE, 0)
    for entry in came:
        earlier.take(entry)
        if entry.message == b"b":
            later.take(entry)
    assert earlier.knows_more_than(later)
    assert not later.knows_more_than(earlier)
    assert not later.knows_more_than(later)


@pytest.mark.parametrize(
    "value", [b'{"type":"text-delta"', b"plain words", b'{"type":"x"}\n\nid: 9', b"[]", b"\xff", b'{"a":"\xff"}']
)
@pytest.mark.parametrize("dialect", [NATIVE, OPENAI], ids=lambda dialect: dialect.name)
def test_what_is_no_event_is_not_shown(value: bytes, dialect: Dialect) -> None:
    """Whoever wrote it to the topic: a client's reader would break, or read what is not there."""
    came = numbered([decode_event(each) for each in published("Hello", own_options())["events"]])
    foreign = Entry(0, 3, b"c", value, b"m", seq=1, opened=STARTED_MS)
    view = View(dialect, 0)
    view.take(came[0])
    frames = view.take(foreign)
    assert [frame for frame in frames if frame.payload != b"[]"] == []


def test_a_hole_in_the_numbers_is_a_jump() -> None:
    """Of one attempt at one choice; what is repeated is none, nor what another choice or attempt begins with."""
    said = woven(of("c", spoken("m", TEXT)), of("c", spoken("m", TEXT, choice=1)))
    log = EventLog(said)
    log.repeat(3, 9)
    view = View(NATIVE, 0)
    came = log.entries()
    at = next(entry.offset for entry in came if entry.seq == 4 and entry.choice == b"1")
    behind = next(entry for entry in came if entry.seq == 5 and entry.choice == b"1")
    came.insert(came.index(behind) + 1, behind)
    jumped = []
    for entry in came:
        if entry.offset != at:
            view.take(entry)
            jumped.append((entry.seq, entry.choice) if view.jumped else None)
    assert [each for each in jumped if each] == [(5, b"1")]
