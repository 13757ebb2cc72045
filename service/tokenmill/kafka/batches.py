"""Record batches that are filled without the client's second layer.

aiokafka writes a record into a batch in C. The method around that, in Python, looks for serializers, of which a
worker has none, and costs as much again for each record. Here records go to the C builder directly; the count that the
method would have kept is set once, when the batch is closed.
"""

from typing import Any

from tokenmill.kafka.aiokafka_inside import appender, set_count


class Batch:
    """One of the client's batches while it is filled."""

    __slots__ = ("append", "client", "records")

    def __init__(self, client: Any) -> None:
        """`client` is an empty batch, as `AIOKafkaProducer.create_batch` gives it."""
        self.client = client
        self.append = appender(client)
        self.records = 0
        """Number of records that were appended; the caller counts."""

    @property
    def size(self) -> int:
        """Return its size in bytes."""
        size: int = self.client.size()
        return size

    def close(self) -> None:
        """Close it: the client may send it."""
        set_count(self.client, self.records)
        self.client.close()
