"""Recovery measured: what is opened, what has to be replayed, and a small run of both."""

from collections import Counter
from pathlib import Path

import pytest

from tokenmill.bench.load import PARTITIONS, Load
from tokenmill.bench.recovery import OpenMessages, Recovery, Replayed, Unforgotten, _recovered, run_recovery
from tokenmill.errors import FatalError
from tokenmill.partition import Partition, PartitionSettings
from tokenmill.records import InputRecord, Output
from tokenmill.servers.worker import WorkerProcess


def _processed(load: Load) -> dict[int, Partition]:
    """The partitions that have read all of it."""
    partitions = {number: Partition(PartitionSettings(), "tokens", number) for number in range(PARTITIONS)}
    out: list[Output] = []
    for number, key, value in load:
        partition = partitions[number]
        partition.process([InputRecord("tokens", number, partition.offset, 0, key, value)], out)
    assert all(output.topic != "tokens.dlq" for output in out)
    return partitions


def test_messages_are_opened_and_stay_open() -> None:
    """As many as asked, spread over the partitions; their tools are kept once."""
    load = OpenMessages.of(40)
    partitions = _processed(load)
    assert load.messages == 40
    assert {partition.open_messages for partition in partitions.values()} == {10}
    assert sum(partition.offset for partition in partitions.values()) == load.records
    names = Counter(name[:1] for name in partitions[0].changes(full=True).changed)
    assert names == {b"m": 10, b"g": 1}


def test_a_replay_has_to_begin_at_the_beginning() -> None:
    """Because of one message on each partition; the rest is the load of the pipeline."""
    load = Unforgotten(5_000)
    partitions = _processed(load)
    assert sum(partition.offset for partition in partitions.values()) == 5_000
    assert {partition.mark().low_water for partition in partitions.values()} == {0}
    assert list(load)[PARTITIONS:] == list(Load(5_000 - PARTITIONS))


def test_medians_are_told() -> None:
    """Of the ratios for replays: what is slow in one round is so for both."""
    replays = [Replayed(10.0, 30.0), Replayed(100.0, 200.0), Replayed(50.0, 250.0)]
    report = Recovery(4, 100, 150.0, [1.0, 3.0, 2.0], 1_000, replays)
    assert (report.restore_rate, report.silent_rate, report.replay_ratio) == (2.0, 200.0, 3.0)


def test_a_restore_from_elsewhere_is_refused(tmp_path: Path) -> None:
    """A time that says nothing about the way that was asked for."""
    worker = WorkerProcess(tmp_path, {})
    lines = [f"t/{number}: live at 10 after {number}.500 s, from redis" for number in range(PARTITIONS)]
    worker.log.write_text("\n".join(lines))
    assert _recovered(worker, "redis") == PARTITIONS - 0.5
    with pytest.raises(FatalError, match="not all partitions were restored from replay"):
        _recovered(worker, "replay")


@pytest.mark.integration
@pytest.mark.slow
def test_both_ways_are_measured(kafka: str) -> None:
    """A worker has few messages again from Redis, and then reads a small log silently."""
    said: list[str] = []
    report = run_recovery(bootstrap=kafka, messages=200, records=300_000, rounds=1, progress=said.append)
    assert 50 < report.bytes_per_message < 512
    assert report.restore_rate > 0
    assert report.replay_ratio > 0
    assert [sentence.split(":")[0] for sentence in said] == [
        "opening 200 messages",
        "from Redis, run 1 of 1",
        "putting 300,000 records on the topic",
        "run 1 of 1",
    ]
