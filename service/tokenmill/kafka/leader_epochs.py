"""The leaders' epochs in which fetched records were written: a commit names that of its last one (KIP-320).

The client drops them, so they are read where answers come in: some bytes at the beginning of each record batch.
"""

from bisect import bisect_right
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from tokenmill.kafka.aiokafka_inside import network
from tokenmill.kafka.log_protocol import epochs_of, fetched
from tokenmill.partition import UNKNOWN_EPOCH


class LeaderEpochs:
    """The offsets at which epochs begin, by partition."""

    def __init__(self) -> None:
        self._starts: dict[TopicPartition, list[tuple[int, int]]] = {}

    def listen(self, consumer: AIOKafkaConsumer) -> None:
        """Note the epochs of all that the consumer fetches from now on."""
        client = network(consumer)
        send = client.send

        async def sent(node_id: Any, request: Any, **options: Any) -> Any:
            response = await send(node_id, request, **options)
            for topic, number, batches in fetched(response):
                self.note(TopicPartition(topic, number), batches)
            return response

        client.send = sent

    def note(self, place: TopicPartition, batches: bytes) -> None:
        """Note the epochs of a partition's record batches."""
        starts = self._starts.setdefault(place, [])
        for offset, epoch in epochs_of(batches):
            while starts and starts[-1][0] >= offset:  # read again, after a seek
                starts.pop()
            if not starts or starts[-1][1] != epoch:
                starts.append((offset, epoch))

    def at(self, place: TopicPartition, offset: int) -> int:
        """Return the epoch of the record at `offset`, -1 if it is unknown. Earlier ones are forgotten."""
        starts = self._starts.get(place, [])
        behind = bisect_right(starts, (offset, 1 << 31))
        if not behind:
            return UNKNOWN_EPOCH
        if behind > 1:
            del starts[: behind - 1]
        return starts[0][1]
