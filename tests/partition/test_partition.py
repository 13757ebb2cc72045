"""A partition as its host sees it."""

import msgspec

from tests.partition.logs import SETTINGS, events, log, partition, record, run, types
from tokenmill.limits import Limits
from tokenmill.partition import Mark, Partition, PartitionSettings
from tokenmill.partition.intake import STREAM_BYTES


def test_offsets_below_the_next_one_are_skipped() -> None:
    """A host that seeks back does no harm."""
    state = partition({"delta": "a"}, {"delta": "b"})
    assert run(state, log({"delta": "a"}, {"delta": "b"}, {"delta": "c"})) != []
    assert state.offset == 3
    assert state.tally.chunks == {"native": 3}


def test_gaps_between_offsets_are_normal() -> None:
    """Transactions leave markers in the log."""
    state = partition({"message_id": "m", "seq": 0, "delta": "a"})
    out = run(state, [record(17, {"message_id": "m", "seq": 1, "delta": "b"})])
    assert (types(out), state.offset) == (["text-delta"], 18)


def test_bad_records_do_not_stop_those_behind() -> None:
    """P7: each becomes a dead letter and is counted under its code."""
    state = partition()
    out = run(state, [record(0, b"{"), record(1, {"delta": "a"}, key=None), record(2, {"delta": "a"})])
    assert [output.topic for output in out] == ["dlq", "dlq", "events", "events", "events"]
    assert state.tally.dead_letters == {"undecodable": 1, "bad-key": 1}


def test_a_dead_letter_leaves_the_state_as_it_was() -> None:
    """Also where only the last thing about the record is wrong."""
    state = partition({"seq": 0, "open": {"format": "hermes"}, "delta": "a"})
    before = state.mark()
    out = run(
        state,
        log(
            {"seq": 0, "open": {"format": "nonsense"}},
            {"delta": "x", "conversation_id": "other"},
            {"message_id": "m", "seq": 4},
            start=1,
        ),
    )
    assert [dict(output.headers)["tm-error-code"] for output in out] == [b"bad-open", b"bad-key", b"orphan"]
    assert state.mark() == msgspec.structs.replace(before, offset=4)


def test_a_value_of_exactly_the_limit_is_parsed() -> None:
    """One byte more is a dead letter."""
    settings = PartitionSettings(limits=Limits(record_bytes=200), dlq="dlq")
    for extra, topics in ((0, {"events"}), (1, {"dlq"})):
        value = b'{"delta":"' + b"x" * (188 + extra) + b'"}'
        out = run(Partition(settings, "tokens", 0), [record(0, value)])
        assert {output.topic for output in out} == topics


def test_a_mark_describes_the_state() -> None:
    """Offset, low-water mark, count and hash."""
    state = partition()
    assert state.mark() == Mark(0, 0, SETTINGS.fingerprint())
    run(state, log({"message_id": "m", "delta": "a"}, {"message_id": "n", "delta": "a"}))
    mark = state.mark()
    assert (mark.offset, mark.low_water, mark.count) == (2, 0, 2)
    run(state, log({"message_id": "m", "delta": "b"}, start=2))
    assert state.mark().digest != mark.digest
    run(state, log({"message_id": "m", "end": True}, {"message_id": "n", "end": True}, start=3))
    assert state.mark() == Mark(5, 0, SETTINGS.fingerprint())
    run(state, [record(300, {"message_id": "x", "usage": {}})])
    assert state.mark() == Mark(301, 301, SETTINGS.fingerprint())


def test_the_number_of_open_messages_counts_choices() -> None:
    """Each has a parser."""
    state = partition({"message_id": "m", "delta": "a"}, {"message_id": "m", "choice": 1, "delta": "a"})
    assert state.open_messages == 2
    run(state, log({"message_id": "m", "end": True}, start=2))
    assert state.open_messages == 1


def test_what_goes_on_is_named_as_its_producer_names_it() -> None:
    """Each choice for itself, until it has ended; a message without a name has none."""
    state = partition({"message_id": "m", "delta": "a"}, {"message_id": "m", "choice": 1, "delta": "b"}, {"delta": "c"})
    assert state.going_on() == [("m", 0), ("m", 1), (None, 0)]
    run(state, [record(3, {"message_id": "m", "end": True})])
    assert state.going_on() == [("m", 1), (None, 0)]


def test_the_first_snapshot_is_whole_and_later_ones_say_what_changed() -> None:
    """Until one is asked for whole: after a write that the store did not acknowledge."""
    state = partition({"message_id": "m", "delta": "a"}, {"message_id": "n", "delta": "a"})
    first = state.changes(full=False)
    assert (first.full, first.offset, len(first.changed), first.removed) == (True, 2, 3, [])
    run(state, log({"message_id": "m", "delta": "b"}, start=2))
    second = state.changes(full=False)
    assert (second.full, second.offset, len(second.changed), second.removed) == (False, 3, 1, [])
    assert state.changes(full=False).changed == {}
    assert len(state.changes(full=True).changed) == 3


def test_what_ended_is_removed_from_the_snapshot_when_it_is_forgotten() -> None:
    """Its options, too, if nobody else uses them."""
    state = partition({"message_id": "m", "open": {"format": "hermes"}})
    whole = state.changes(full=True)
    run(state, log({"message_id": "m", "end": True}, start=1))
    assert list(state.changes(full=False).changed) == [name for name in whole.changed if name.startswith(b"m")]
    run(state, [record(200, {"message_id": "x", "usage": {}})])
    assert sorted(state.changes(full=False).removed) == sorted(whole.changed)


def test_the_counts_are_drained() -> None:
    """The host adds them to its metrics."""
    state = partition({"message_id": "m", "delta": "a"}, {"message_id": "m", "choice": 1, "delta": "a"})
    tally = state.drain()
    assert (tally.chunks, tally.events["text-delta"], tally.opened) == ({"native": 2}, 2, [1_000])
    assert state.drain().chunks == {}
    run(state, log({"message_id": "m", "control": "cancel"}, {"message_id": "m", "open": {}}, start=2))
    assert state.drain().opened == [1_003]


def test_two_partitions_give_different_ids() -> None:
    """An unnamed message is named after its partition, too."""
    ids = {events(run(Partition(SETTINGS, "tokens", number), log({"delta": "a"})))[0].message_id for number in (0, 1)}
    assert ids == {"o0-0", "o1-0"}


def test_what_streams_take_is_part_of_the_size() -> None:
    """A host stops reading when all that is open takes too much."""
    state = partition({"message_id": "m", "delta": "a"})
    before = state.own_size
    run(state, [record(1, b'data: {"message_id": "n", "del', b"k", tm_codec="sse+native")])
    assert (state.open_streams, state.open_messages) == (1, 1)
    assert state.own_size > before + STREAM_BYTES
