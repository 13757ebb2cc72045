"""Messages of which a replay has read nothing are noticed when they go on, and are not taken for new ones."""

from typing import Any

import msgspec

from tests.partition.logs import SETTINGS, log, partition, record, run, types
from tests.partition.test_recovery import replay, said
from tokenmill.partition import Mark, Partition, PartitionSettings, ReplayEnd
from tokenmill.partition.missing import NONE_MISSING, Missing
from tokenmill.records import InputRecord

LOG = log({"message_id": "a", "delta": "1"}, {"message_id": "b", "delta": "1"}, {"message_id": "seen", "delta": "1"})


def lacking(settings: PartitionSettings = SETTINGS) -> Partition:
    """A partition without a snapshot, of whose three messages the topic holds a record of one."""
    before = partition(settings=settings)
    run(before, LOG)
    state, announced, end = replay(before.mark(), LOG[2:], lossy=True, settings=settings)
    assert (said(announced), end) == ([("seen", "state-lost")], ReplayEnd(lost=1, agrees=True, missing=2))
    return state


def later(*chunks: dict[str, Any]) -> list[InputRecord]:
    """What comes after them."""
    return log(*chunks, start=len(LOG))


def test_a_missing_message_that_goes_on_is_announced_once() -> None:
    """In the place of an answer that begins in its middle; its further chunks are counted."""
    state = lacking()
    out = run(state, later(*({"message_id": "a", "delta": text} for text in "234")))
    assert said(out) == [("a", "state-lost")]
    assert {output.timestamp for output in out} == {1_003}
    assert state.tally.dropped == {"lost": 3}


def test_with_a_number_it_is_missing_too_and_no_orphan() -> None:
    """Which would be a dead letter for each of its chunks."""
    out = run(lacking(), later({"message_id": "a", "seq": 7, "delta": "x"}, {"message_id": "a", "seq": 8, "end": True}))
    assert said(out) == [("a", "state-lost")]


def test_what_says_that_it_begins_begins() -> None:
    """By `seq` 0 or `open`: nobody waits for anything then."""
    out = run(lacking(), later({"message_id": "n", "seq": 0, "delta": "x"}, {"open": {}, "delta": "y"}))
    assert types(out) == ["message-start", "text-start", "text-delta"] * 2


def test_once_all_have_gone_on_others_open_as_ever() -> None:
    """At most that many answers of producers that do not mark a beginning are lost with them."""
    out = run(lacking(), later(*({"message_id": name, "delta": "x"} for name in ("new", "b", "m"))))
    assert said(out[:4]) == [("new", "state-lost"), ("b", "state-lost")]
    assert types(out[4:]) == ["message-start", "text-start", "text-delta"]


def test_no_message_is_missing_for_longer_than_it_may_be_open() -> None:
    """By the timestamps of the log, from the last record that was read."""
    settings = msgspec.structs.replace(SETTINGS, max_age_ms=2)
    chunks = later(*({"message_id": name, "usage": {}} for name in "xyz"), {"message_id": "m", "delta": "x"})
    state = lacking(settings)
    run(state, chunks[:2])
    before = state.mark()
    assert types(run(state, chunks[2:])) == ["message-start", "text-start", "text-delta"]
    assert (before.missing, state.mark().missing) == (Missing(2, 1_004, 5), Missing(0, 1_004, 5))


def test_where_nothing_was_read_the_next_record_says_from_when() -> None:
    """All that is known then is the commit."""
    mark = Mark(3, 0, SETTINGS.fingerprint(), count=2)
    state = Partition(SETTINGS, "tokens", 0, 3)
    state.begin_replay(mark, lossy=True)
    assert state.end_replay([]).missing == 2
    assert said(run(state, later({"message_id": "a", "delta": "2"}))) == [("a", "state-lost")]
    assert state.mark().missing == Missing(1, 1_003 + SETTINGS.max_age_ms, 4)


def test_a_later_replay_does_the_same_and_says_nothing_twice() -> None:
    """What is still missing then is known by the commit."""
    state = lacking()
    read = later({"message_id": "a", "delta": "2"}, {"message_id": "n", "seq": 0, "delta": "x"})
    run(state, read)
    mark = state.mark()
    again, announced, end = replay(mark, LOG + read)
    assert (announced, end) == ([], ReplayEnd(lost=0, agrees=True, missing=1))
    assert again.mark() == mark
    more = [msgspec.structs.replace(each, offset=each.offset + 2) for each in later({"message_id": "b", "delta": "2"})]
    assert run(again, more) == run(state, more)
    assert again.mark() == state.mark()
    again, announced, _ = replay(state.mark(), LOG + read + more)
    assert (announced, again.mark()) == ([], state.mark())


def test_one_that_begins_too_late_again_passes_nothing_over() -> None:
    """What was announced live is announced again, because it can't be distinguished from what is lost now."""
    state = lacking()
    run(state, read := later({"message_id": "a", "delta": "2"}, {"message_id": "n", "seq": 0, "delta": "x"}))
    more = log({"message_id": "n", "seq": 1, "delta": "y"}, start=5)
    run(state, more)
    _, announced, end = replay(state.mark(), [read[0], *more], lossy=True)
    assert said(announced) == [("a", "state-lost"), ("n", "state-lost")]
    assert end.missing == 2


def test_the_note_is_dropped_when_no_replay_can_reach_there() -> None:
    """Nothing is missing, and the low-water mark has passed it."""
    missing = Missing(1, 10, 0).found(5)
    assert missing.at(9, 5) == Missing(0, 10, 6)
    assert missing.at(9, 6) is NONE_MISSING
    assert NONE_MISSING.more(0, 5) is NONE_MISSING


def test_a_time_that_is_known_is_not_forgotten() -> None:
    """Whatever else is missing; only messages that are over are left out."""
    assert [Missing(1, 10).more(1, time) for time in (0, 5, 20)] == [Missing(2, 10), Missing(2, 10), Missing(2, 20)]
    assert Missing(0, 10, 6).more(1, 0) == Missing(1, 0, 6)


SOUND = later(
    {"message_id": "n", "choice": 0, "seq": 0, "delta": "x"},
    {"message_id": "n", "choice": 0, "seq": 1, "end": True},
    {"message_id": "n", "choice": 1, "delta": "y"},
)
"""A message that marks its beginning, and a later choice of it that does not."""


def test_another_choice_of_a_message_that_was_seen_is_not_missing() -> None:
    """Whether the others have ended or not."""
    for records in (SOUND, [SOUND[0], SOUND[2]]):
        state = lacking()
        run(state, records[:-1])
        assert types(run(state, records[-1:])) == ["message-start", "text-start", "text-delta"]
        assert state.mark().missing.count == 2


def test_a_later_replay_knows_the_message_of_that_choice() -> None:
    """Though the choice that ended long ago is forgotten by then."""
    state = lacking()
    records = [
        *SOUND,
        *log({"message_id": "seen", "end": True}, start=10),
        *log({"message_id": "z", "usage": {}}, start=200),
    ]
    run(state, records)
    mark = state.mark()
    assert (mark.count, mark.low_water) == (1, len(LOG))
    again, announced, end = replay(mark, LOG + records)
    assert (announced, end) == ([], ReplayEnd(lost=0, agrees=True, missing=2))
    assert again.mark() == mark


def test_what_has_no_effect_on_a_message_that_was_seen_has_none_in_a_later_replay() -> None:
    """A chunk too far on for a choice that is unknown, and one that is late."""
    settings = msgspec.structs.replace(SETTINGS, ended_offsets=4)
    for chunk in ({"choice": 1, "seq": 4, "delta": "y"}, {"choice": 0, "seq": 2, "usage": {}}):
        state = lacking(settings)
        more = ({"message_id": "seen", "end": True}, {"seq": 0, "delta": "goes on"}, {"message_id": "n", **chunk})
        records = SOUND[:2] + log(*more, start=5) + log({"message_id": "z", "usage": {}}, start=20)
        run(state, records)
        mark = state.mark()
        assert (mark.count, mark.missing.count, mark.low_water) == (1, 2, len(LOG))
        again, announced, end = replay(mark, LOG + records, settings=settings)
        assert (announced, end) == ([], ReplayEnd(lost=0, agrees=True, missing=2))
        assert again.mark() == mark


def test_another_choice_of_a_message_that_was_missing_is_missing_too() -> None:
    """Also where the first has ended: of none of them anybody has seen the beginning."""
    chunks = ({"choice": 0, "delta": "2"}, {"choice": 0, "end": True}, {"choice": 1, "delta": "2"})
    state = lacking()
    out = run(state, later(*({"message_id": "a", **chunk} for chunk in chunks)))
    assert said(out) == [("a", "state-lost")] * 2
    assert state.mark().missing.count == 0


def test_one_record_is_of_missing_choices_altogether() -> None:
    """More than were known to be missing: a later replay could not find their end."""
    state = lacking()
    choices = b",".join(b'{"index":%d,"delta":{"content":"x"}}' % index for index in range(3))
    records = [record(3, b'{"id":"a","choices":[%b]}' % choices, tm_codec="openai")]
    assert said(run(state, records)) == [("a", "state-lost")] * 3
    mark = state.mark()
    assert mark.missing.count == 0
    again, announced, end = replay(mark, LOG + records)
    assert (announced, end, again.mark()) == ([], ReplayEnd(lost=0, agrees=True), mark)
