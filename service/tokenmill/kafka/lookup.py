"""Where records are: the partition of a key, the bounds of a log, the offset of a time; and a consumer that is placed
there.
"""

from collections.abc import Collection, Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.partitioner import murmur2

from tokenmill.kafka.calls import CALL_S, deadline


def partition_of(key: bytes, partitions: int) -> int:
    """Return where producers place a key among this many partitions: murmur2, as in the Java client."""
    return int(murmur2(key) & 0x7FFFFFFF) % partitions


def assign_at(consumer: AIOKafkaConsumer, places: Mapping[TopicPartition, int]) -> None:
    """Assign these partitions, each at its offset: an assignment forgets the positions of the one before."""
    consumer.assign(list(places))
    for place, offset in places.items():
        consumer.seek(place, offset)


async def bounds_of(consumer: AIOKafkaConsumer, place: TopicPartition, seconds: float = CALL_S) -> tuple[int, int]:
    """Return a partition's first offset, and the one after its last record that can be read. Raises `Unavailable`."""
    log = f"{place.topic}/{place.partition}"
    first = await deadline(consumer.beginning_offsets([place]), f"look up the beginning of {log}", seconds)
    end = await deadline(consumer.end_offsets([place]), f"look up the end of {log}", seconds)
    return first[place], end[place]


async def offsets_since(
    consumer: AIOKafkaConsumer, places: Collection[TopicPartition], time_ms: int
) -> dict[TopicPartition, int]:
    """Return for each partition the first offset whose timestamp is not below the time; its end where all are below.

    A broker that finds nothing for any time in a log with records can't look up by time, as librdkafka's mock: then it
    is the log's first offset.
    """
    what = "look up an offset by time"
    ends = await deadline(consumer.end_offsets(places), "look up the log's end")  # first: what comes now is read
    found = await deadline(consumer.offsets_for_times(dict.fromkeys(places, max(0, time_ms))), what)
    missing = [place for place in places if found[place] is None]
    if not missing:
        return {place: each.offset for place, each in found.items()}
    ever = await deadline(consumer.offsets_for_times(dict.fromkeys(missing, 0)), what)
    firsts = await deadline(consumer.beginning_offsets(missing), "look up the log's beginning")
    others = {place: ends[place] if ever[place] else firsts[place] for place in missing}
    return {place: others[place] if place in others else found[place].offset for place in places}
