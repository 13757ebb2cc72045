"""From a snapshot back to a partition."""

from collections.abc import Callable, Generator
from contextlib import suppress

import msgspec
import pytest

from tests.partition.logs import SETTINGS, log, partition, record, run
from tests.support.restoring import restore
from tokenmill.errors import SnapshotError
from tokenmill.partition import LogId, Mark, Partition, SnapshotWrite, at_once
from tokenmill.partition.snapshot import Meta

STOPPED = {"finish_reason": "stop", "stop_sequence": "END", "end": False}


def busy() -> Partition:
    """A partition with everything a snapshot can hold."""
    state = partition(
        {"message_id": "m", "open": {"format": "hermes", "model": "q"}, "delta": '<tool_call>{"name": "f", "arg'},
        {"message_id": "m", "choice": 1, "seq": 0, "reasoning": "why", "usage": {"n": 1}, **STOPPED},
        {"delta": "unnamed", "finish_reason": "length", "end": False},
        {"message_id": "ended", "delta": "a", "end": True},
        {"message_id": "ended", "delta": "late"},
        {"message_id": "closed", "delta": "a"},
        {"message_id": "closed", "control": "cancel"},
    )
    run(state, [record(7, b"\xe2\x82", tm_codec="text", tm_stream="s")])
    return state


AFTER = [
    *log(
        {"message_id": "m", "delta": 'uments": {}}</tool_call>', "end": True},
        {"message_id": "m", "choice": 1, "seq": 1, "end": True},
        {"end": True},
        {"message_id": "ended", "delta": "late"},
        {"message_id": "closed", "choice": 1, "delta": "late"},
        start=8,
    ),
    record(13, b"\xac", tm_codec="text", tm_stream="s"),
]


def restored(mark: Mark, write: SnapshotWrite, topic: str = "tokens", number: int = 0) -> Partition:
    """The partition of a snapshot."""
    return restore(SETTINGS, topic, number, mark, (write.meta, write.changed))


def test_everything_goes_on_where_it_was() -> None:
    """Calls, choices, pending reasons and usage, the memory of what ended, the halves of characters."""
    state = busy()
    again = restored(state.mark(), state.changes(full=True))
    assert again.mark() == state.mark()
    out = run(again, AFTER)
    assert out == run(state, AFTER)
    assert any(b'"stop_sequence":"END"' in (output.value or b"") for output in out)
    assert again.mark() == state.mark()
    assert again.changes(full=True) == state.changes(full=True)


def test_the_next_write_is_a_delta() -> None:
    """On top of the snapshot that it came from."""
    state = busy()
    again = restored(state.mark(), state.changes(full=True))
    assert again.changes(full=False).changed == {}
    run(again, AFTER[:1])
    write = again.changes(full=False)
    assert (write.full, len(write.changed)) == (False, 1)


def test_a_snapshot_of_another_place_is_refused() -> None:
    """A store that mixes them up must not mix up the events."""
    state = busy()
    mark, write = state.mark(), state.changes(full=True)
    for topic, number in (("other", 0), ("tokens", 1)):
        with pytest.raises(SnapshotError, match="not of"):
            restored(mark, write, topic, number)


def test_the_state_of_another_log_is_none() -> None:
    """Whatever is like it in topic, partition and offset."""
    state = busy()
    state.log = LogId("c", "t")
    mark = msgspec.structs.replace(state.mark(), log=LogId("c", "made anew"))
    found = None
    with suppress(SnapshotError):
        found = restored(mark, state.changes(full=True))
    assert found is None


@pytest.mark.parametrize("other", [LogId("c", "other"), LogId("other", ""), LogId("c", "t", 3)])
def test_a_snapshot_of_another_log_is_refused(other: LogId) -> None:
    """A topic that was created again, another cluster, or a log that lost its end and diverged."""
    state = busy()
    state.log = LogId("c", "t")
    mark, write = state.mark(), state.changes(full=True)
    with pytest.raises(SnapshotError, match="of another log"):
        restored(msgspec.structs.replace(mark, log=other), write)
    assert restored(mark, write).log == state.log


def test_a_snapshot_from_after_the_mark_is_refused() -> None:
    """It was written and the commit was not: its outputs may never have been published."""
    state = partition({"message_id": "m", "delta": "a"})
    mark = state.mark()
    run(state, log({"message_id": "m", "delta": "b"}, start=1))
    with pytest.raises(SnapshotError, match="does not lead"):
        restored(mark, state.changes(full=True))


def with_meta(**changes: object) -> Callable[[SnapshotWrite], SnapshotWrite]:
    """Another meta."""

    def change(write: SnapshotWrite) -> SnapshotWrite:
        meta = msgspec.structs.replace(msgspec.msgpack.decode(write.meta, type=Meta), **changes)
        return write._replace(meta=msgspec.msgpack.encode(meta))

    return change


def without(kind: bytes) -> Callable[[SnapshotWrite], SnapshotWrite]:
    """Fields of one kind are missing."""
    return lambda write: write._replace(changed={k: v for k, v in write.changed.items() if not k.startswith(kind)})


def put(name: bytes, value: bytes) -> Callable[[SnapshotWrite], SnapshotWrite]:
    """One more field."""
    return lambda write: write._replace(changed=write.changed | {name: value})


@pytest.mark.parametrize(
    "spoil",
    [
        with_meta(schema=0),
        with_meta(schema=99),
        without(b"g"),
        put(b"mx", b"\xc1"),
        put(b"mx", b"\x90"),
        put(b"kx", b"\x90"),
        put(b"gx", msgspec.msgpack.encode({"format": "gone"})),
        put(b"gx", msgspec.msgpack.encode({"colour": 1})),
        put(b"gx", b"\x81\xa5tools\x91\x81\xa1x" + b"\x91" * 5_000 + b"\xc0"),
        put(b"?", b""),
        put(b"", b""),
        lambda write: write._replace(meta=b""),
        lambda write: write._replace(meta=write.meta[:-1]),
    ],
)
def test_what_cannot_be_read_is_refused(spoil: Callable[[SnapshotWrite], SnapshotWrite]) -> None:
    """The state is replayed from the log then; nothing else is raised."""
    state = busy()
    with pytest.raises(SnapshotError):
        restored(state.mark(), spoil(state.changes(full=True)))


def test_a_parsers_state_that_cannot_be_read_is_refused() -> None:
    """Whichever byte of it is wrong."""
    state = busy()
    mark, write = state.mark(), state.changes(full=True)
    name, value = next((name, value) for name, value in write.changed.items() if b'{"name": "f", "arg' in value)
    for length in range(len(value)):
        with pytest.raises(SnapshotError):
            restored(mark, write._replace(changed=write.changed | {name: value[:length]}))


def test_steps_are_gone_through_to_their_end() -> None:
    """And come to what they return, be there none."""

    def steps(count: int) -> Generator[None, None, int]:
        for _ in range(count):
            yield
        return count

    assert [at_once(steps(count)) for count in (0, 3)] == [0, 3]
