"""What changed since the last snapshot."""

import pytest

from tests.partition.logs import SETTINGS, log, partition, record, run
from tokenmill.partition import Partition, unsaved
from tokenmill.partition.unsaved import Fields


def test_fields_are_put_or_removed() -> None:
    """A field without a value is removed."""
    fields = Fields()
    fields.put(b"a", b"1")
    fields.put(b"b", None)
    assert (fields.changed, fields.removed) == ({b"a": b"1"}, [b"b"])


def test_nothing_is_noted_before_there_is_a_snapshot() -> None:
    """A host without a store pays nothing."""
    state = partition(*({"message_id": str(number), "delta": "a", "end": True} for number in range(50)))
    state.mark()
    assert not state._unsaved._idents
    state.changes(full=True)
    run(state, log({"message_id": "m", "delta": "a"}, start=50))
    state.mark()
    assert len(state._unsaved._idents) == 1


def test_no_stream_is_noted_before_there_is_a_snapshot() -> None:
    """A replay may pass a million of them."""
    state = Partition(SETTINGS, "tokens", 0)
    run(state, [record(offset, b"\xe2", tm_codec="text", tm_stream=str(offset)) for offset in range(5)])
    assert (state.open_streams, len(state._intake.changed)) == (5, 0)
    state.changes(full=True)
    run(state, [record(5, b"\xe2", tm_codec="text", tm_stream="5")])
    assert len(state.changes(full=False).changed) == 1


def test_notes_are_given_up_when_nearly_all_they_are_of_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long replay on top of an old snapshot would keep one of each message that it passes."""
    monkeypatch.setattr(unsaved, "NOTES_SPARE", 10)
    state = partition()
    state.changes(full=True)
    ended = log(*({"message_id": str(number), "delta": "a", "end": True} for number in range(400)))
    noted = []
    for each in ended:
        run(state, [each])
        state.mark()
        noted.append(len(state._unsaved._idents))
    assert max(noted) < 2 * SETTINGS.ended_offsets + 20
    write, twin = state.changes(full=False), partition()
    run(twin, ended)
    assert write.full
    assert write.changed == twin.changes(full=True).changed
    run(state, log({"message_id": "m", "delta": "a"}, start=400))
    assert not state.changes(full=False).full


def test_a_message_that_came_and_went_is_removed() -> None:
    """Whether or not the store ever had it."""
    state = partition()
    state.changes(full=True)
    run(state, log({"message_id": "m", "delta": "a", "end": True}))
    run(state, [record(200, {"message_id": "x", "usage": {}})])
    write = state.changes(full=False)
    assert (write.changed, len(write.removed)) == ({}, 1)


def test_an_id_in_use_again_is_changed_not_removed() -> None:
    """The field has the new message."""
    state = partition({"message_id": "m", "delta": "a", "end": True})
    whole = state.changes(full=True)
    run(state, [record(200, {"message_id": "m", "delta": "b"})])
    write = state.changes(full=False)
    assert write.removed == []
    assert write.changed.keys() < whole.changed.keys()
