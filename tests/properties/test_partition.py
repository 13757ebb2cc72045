"""Promises of a whole partition, over random logs: what comes out depends on the log and on nothing else."""

from collections.abc import Sequence

from hypothesis import given, settings

from tests.properties.streams import SETTINGS, logs
from tokenmill.records import InputRecord, Output
from tokenmill.session import Mark, Partition

Outputs = list[list[Output]]


def process(partition: Partition, records: Sequence[InputRecord]) -> Outputs:
    """The outputs of each record."""
    outputs: Outputs = []
    for record in records:
        outputs.append([])
        partition.process([record], outputs[-1])
    return outputs


def live(records: Sequence[InputRecord]) -> tuple[Outputs, Mark]:
    """What a worker that never stopped publishes, and what it commits in the end."""
    partition = Partition(SETTINGS, "tokens", 0)
    outputs = process(partition, records)
    return outputs, partition.mark()


def fields(partition: Partition) -> dict[bytes, bytes]:
    """All that a snapshot would hold of the messages."""
    return partition.changes(full=True).changed


@given(logs())
def test_batches_change_nothing(records: list[InputRecord]) -> None:
    """P3: the same bytes whether records come one by one or all at once."""
    outputs, mark = live(records)
    partition, out = Partition(SETTINGS, "tokens", 0), list[Output]()
    partition.process(records, out)
    assert out == [output for each in outputs for output in each]
    assert partition.mark() == mark


@given(logs())
def test_marks_and_snapshots_change_nothing(records: list[InputRecord]) -> None:
    """P3: a host that looks at the state after every record gets the same outputs."""
    outputs, mark = live(records)
    partition = Partition(SETTINGS, "tokens", 0)
    for record, expected in zip(records, outputs, strict=True):
        partition.mark()
        assert process(partition, [record]) == [expected]
        partition.changes(full=False)
        partition.idle(record.offset * 1_000, 1_000)
    assert partition.mark() == mark


@given(logs())
def test_a_snapshot_at_every_boundary_changes_nothing(records: list[InputRecord]) -> None:
    """P3: the state goes through bytes after every record, and everything is as if it had not."""
    outputs, mark = live(records)
    partition = Partition(SETTINGS, "tokens", 0)
    for record, expected in zip(records, outputs, strict=True):
        before = partition.mark()
        write = partition.changes(full=True)
        partition = Partition.restore(SETTINGS, "tokens", 0, before, (write.meta, write.changed))
        assert partition.mark() == before
        assert process(partition, [record]) == [expected]
    assert partition.mark() == mark


@given(logs())
def test_deltas_add_up_to_the_whole(records: list[InputRecord]) -> None:
    """A store that applies every delta holds what a full write would hold."""
    partition, twin = Partition(SETTINGS, "tokens", 0), Partition(SETTINGS, "tokens", 0)
    stored = dict(partition.changes(full=True).changed)
    for record in records:
        for each in (partition, twin):
            process(each, [record])
        write = partition.changes(full=False)
        assert not write.full
        stored = {name: value for name, value in stored.items() if name not in write.removed} | write.changed
        whole = twin.changes(full=True)
        assert stored == whole.changed
        assert write.meta == whole.meta


@settings(max_examples=300)
@given(logs())
def test_a_replay_from_the_low_water_mark_gives_the_same_state(records: list[InputRecord]) -> None:
    """At every boundary: start from the mark with nothing, and state and later outputs are those of who never stopped."""
    outputs, mark = live(records)
    truth = Partition(SETTINGS, "tokens", 0)
    for number, record in enumerate(records):
        process(truth, [record])
        committed = truth.mark()
        again = Partition(SETTINGS, "tokens", 0, committed.low_water)
        again.begin_replay(committed, lossy=False)
        process(again, records[: number + 1])
        announced: list[Output] = []
        end = again.end_replay(announced)
        assert (announced, end.lost, end.agrees) == ([], 0, True)
        assert again.mark() == committed
        assert fields(again) == fields(truth)
        assert process(again, records[number + 1 :]) == outputs[number + 1 :]
        assert again.mark() == mark
