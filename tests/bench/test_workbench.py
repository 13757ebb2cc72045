"""What the sides run on."""

from pathlib import Path

from tokenmill.bench.load import Shape
from tokenmill.bench.passthrough import PassThrough
from tokenmill.bench.recoding import Recoding
from tokenmill.bench.streams import KafkaStreams
from tokenmill.bench.workbench import (
    AT_LEAST_ONCE,
    BEFORE,
    EXACTLY_ONCE,
    PASS_THROUGH,
    RE_ENCODING,
    STREAMS,
    Workbench,
    new_group,
)
from tokenmill.config import load_config
from tokenmill.servers.worker import WorkerProcess


def workbench(folder: Path) -> Workbench:
    return Workbench(folder, "k:1", "redis://r:2/0", Shape(0.9, 200.4))


def test_every_stand_has_topics_of_its_own(tmp_path: Path) -> None:
    """Two benchmarks on one Kafka do not meet."""
    one, other = workbench(tmp_path), workbench(tmp_path)
    assert not set(one.topics) & set(other.topics)
    assert new_group() != new_group()
    assert one.tokens in one.topics


def test_all_sides_read_the_same_topic_and_write_to_different_ones(tmp_path: Path) -> None:
    """The worker has an output more: complete calls."""
    one = workbench(tmp_path)
    assert not set(one.outputs(AT_LEAST_ONCE)) & set(one.outputs(PASS_THROUGH))
    assert (one.outputs_per_record(EXACTLY_ONCE), one.outputs_per_record(PASS_THROUGH)) == (0.9, 1.0)


def test_the_worker_runs_with_a_configuration_that_it_accepts(tmp_path: Path) -> None:
    """The delivery that it is named by, with the service's own intervals; snapshots on."""
    one = workbench(tmp_path)
    worker = one.process(EXACTLY_ONCE, "g")
    assert isinstance(worker, WorkerProcess)
    worker.folder.mkdir()
    config = load_config(Path(worker.command()[-1]), {})
    assert (config.kafka.group_id, config.redis.url, config.topics.tokens) == ("g", "redis://r:2/0", one.tokens)
    assert config.worker.delivery == EXACTLY_ONCE
    assert (config.worker.commit_interval_ms, config.worker.transaction_interval_ms) == (100, 50)


def test_the_code_before_runs_from_its_checkout(tmp_path: Path) -> None:
    """With the same settings, in the same place of the turn."""
    one = Workbench(tmp_path, "k:1", "redis://r:2/0", Shape(0.9, 200.4), before=tmp_path / "old")
    for old, side in BEFORE.items():
        worker = one.process(old, side)
        assert isinstance(worker, WorkerProcess)
        assert worker.surroundings()["env"]["PYTHONPATH"] == str(tmp_path / "old" / "service")
        worker.folder.mkdir()
        assert load_config(Path(worker.command()[-1]), {}).worker.delivery == side
        assert (one.outputs(old), one.outputs_per_record(old)) == (one.outputs(side), 0.9)
    assert "env" not in one.process(EXACTLY_ONCE, "g").surroundings()


def test_the_floor_and_the_peer_write_where_the_reference_does(tmp_path: Path) -> None:
    """One record for each; the peer commits as a worker with its delivery does."""
    one = workbench(tmp_path)
    for side in (RE_ENCODING, *STREAMS):
        assert (one.outputs(side), one.outputs_per_record(side)) == (one.outputs(PASS_THROUGH), 1.0)
    floor, peer, other = (one.process(side, "g") for side in (RE_ENCODING, *STREAMS))
    assert isinstance(floor, Recoding)
    assert isinstance(peer, KafkaStreams)
    assert isinstance(other, KafkaStreams)
    assert (peer._job.delivery, peer._job.commit_interval_ms) == (AT_LEAST_ONCE, 100)
    assert (other._job.delivery, other._job.commit_interval_ms) == (EXACTLY_ONCE, 50)


def test_the_reference_writes_records_of_the_mean_size(tmp_path: Path) -> None:
    """To the byte."""
    process = workbench(tmp_path).process(PASS_THROUGH, "g")
    assert isinstance(process, PassThrough)
    assert '"value_bytes":200' in process.command()[-1]
