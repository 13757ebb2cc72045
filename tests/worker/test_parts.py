"""What an engine is made of, and what it can do without."""

from tokenmill.config import Config
from tokenmill.kafka.clients import make_consumer, make_producer
from tokenmill.observe import Hooks, Numbers
from tokenmill.partition import PartitionSettings
from tokenmill.store import GuardedStore, MemoryStore
from tokenmill.worker.output_partitions import UNLIMITED
from tokenmill.worker.parts import Parts


def _parts() -> Parts:
    config = Config()
    return Parts(
        config=config,
        settings=PartitionSettings.from_config(config),
        consumer=make_consumer(config.kafka),
        producer=make_producer(config.kafka),
        store=GuardedStore(MemoryStore(), deadline=1, failed=lambda _op, _: None),
        numbers=Numbers(),
        hooks=Hooks(),
        fail=lambda _: None,
    )


async def test_what_is_left_out_is_off() -> None:
    """No spans, no copy of sessions, no partition held; what outputs have is learned by each engine for itself."""
    parts, other = _parts(), _parts()
    assert not parts.telemetry.on
    assert parts.sessions is None
    assert parts.output_partitions.partitions == UNLIMITED
    assert parts.output_partitions is not other.output_partitions
    for each in (parts, other):
        await each.consumer.stop()
        await each.producer.stop()
