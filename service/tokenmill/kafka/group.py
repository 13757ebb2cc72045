"""What a consumer group reports: whether a member still is one, and what was committed."""

from collections.abc import Sequence

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from tokenmill.errors import Unavailable
from tokenmill.kafka.aiokafka_inside import committed, heartbeat
from tokenmill.kafka.calls import deadline


async def committed_offsets(
    consumer: AIOKafkaConsumer, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return what the group committed; the consumer's own method drops the metadata."""
    return await deadline(committed(consumer, partitions), "committed offsets")


async def still_a_member(consumer: AIOKafkaConsumer) -> None:
    """Ask the group: a member that was taken for dead may have lost its partitions, and would fence their new owners.

    Raises `Unavailable` while the group does not confirm it; the client joins again where it has to.
    """
    if not await deadline(heartbeat(consumer), "ask the group"):
        raise Unavailable("Kafka: the group does not know this member, or does not answer")
