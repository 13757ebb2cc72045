"""Promises of a whole partition, over providers' streams: a codec's memory is state like any other."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.provider_logs import provider_logs
from tests.properties.streams import SETTINGS
from tests.properties.test_partition import live, process
from tests.support.restoring import restore
from tokenmill.partition import Partition
from tokenmill.records import InputRecord

TIMEOUT_MS = 1_000


@settings(max_examples=40)
@given(provider_logs())
def test_a_snapshot_at_every_boundary_changes_nothing(records: list[InputRecord]) -> None:
    """P3: what codecs remember goes through bytes after every record."""
    outputs, mark = live(records)
    partition = Partition(SETTINGS, "tokens", 0)
    for record, expected in zip(records, outputs, strict=True):
        write = partition.changes(full=True)
        partition = restore(SETTINGS, "tokens", 0, partition.mark(), (write.meta, write.changed))
        assert process(partition, [record]) == [expected]
    assert partition.mark() == mark


@settings(max_examples=200)
@given(provider_logs(), st.integers(0, 50))
def test_a_replay_from_the_low_water_mark_goes_on_alike(records: list[InputRecord], number: int) -> None:
    """What is left of streams that ended before may be misread on the way, and leaves no trace."""
    committed = records[: number + 1]
    outputs, last = live(records)
    mark = live(committed)[1]
    again = Partition(SETTINGS, "tokens", 0, mark.low_water)
    again.begin_replay(mark, lossy=False)
    process(again, committed)
    end = again.end_replay([])
    assert (end.lost, end.agrees) == (0, True)
    assert process(again, records[number + 1 :]) == outputs[number + 1 :]
    assert (again.mark().count, again.mark().digest) == (last.count, last.digest)


@settings(max_examples=40)
@given(provider_logs())
def test_what_is_idle_ends_and_holds_nothing(records: list[InputRecord]) -> None:
    """Messages and streams, whatever became of them: one round of time-outs, and the log below is not needed."""
    partition = Partition(SETTINGS, "tokens", 0)
    process(partition, records)
    partition.idle(0, TIMEOUT_MS)
    for control in partition.idle(TIMEOUT_MS, TIMEOUT_MS):
        process(
            partition,
            [InputRecord("tokens", 0, partition.offset, 0, control.key, control.value, list(control.headers))],
        )
    assert partition.open_messages == 0
    assert not any(name.startswith(b"k") for name in partition.changes(full=True).changed)
    process(partition, [InputRecord("tokens", 0, partition.offset + 99, 0, b"c", b'{"usage":{}}')])
    assert partition.mark().low_water == partition.offset
