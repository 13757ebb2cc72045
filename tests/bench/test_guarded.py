"""What figures are kept of: that it is what it says, and does all of its work."""

from tokenmill.bench.guarded import (
    DIALECTS,
    MESSAGES,
    SETTINGS,
    TEXTS,
    bare_records,
    guarded,
    live,
    opened,
    restored,
    silent,
)
from tokenmill.bench.load import MESSAGE_CHUNKS, whole_messages
from tokenmill.partition import Partition

RECORDS = list(whole_messages(MESSAGES))


def test_everything_runs() -> None:
    """Each with its reference, and under a name of its own."""
    found = list(guarded())
    for each in found:
        each.run()
        each.reference()
        assert min(each.units, each.references) > 0
    assert len({each.name for each in found}) == len(found) == len(TEXTS) + len(DIALECTS) + 4


def test_a_bare_record_is_read_and_written_again() -> None:
    """All of its fields."""
    assert bare_records([b'{"seq": 1, "delta": "x"}']) == [b'{"seq":1,"delta":"x"}']


def test_records_become_outputs_or_state() -> None:
    """The same batch, live and silently: whole messages with a call each, which go to both topics."""
    out = live(RECORDS)
    assert len(RECORDS) == MESSAGES * MESSAGE_CHUNKS
    assert sum(output.topic == "tool-calls" for output in out) == MESSAGES
    assert {output.topic for output in out} == {"events", "tool-calls"}
    again = Partition(SETTINGS, "tokens", 0)
    again.process(RECORDS, [])
    assert silent(RECORDS).mark().digest == again.mark().digest


def test_a_snapshot_has_all_messages() -> None:
    """Which are open."""
    partition = opened(10)
    assert partition.open_messages == 10
    snapshot = partition.changes(full=True)
    assert len([name for name in snapshot.changed if name.startswith(b"m")]) == 10
    assert restored(partition.mark(), snapshot).mark() == partition.mark()
