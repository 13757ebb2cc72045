"""What changed since the last snapshot."""

from tests.partition.logs import log, partition, record, run
from tokenmill.partition.unsaved import Fields


def test_fields_are_put_or_removed() -> None:
    """Nothing to say is a removal."""
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
