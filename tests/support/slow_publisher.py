"""A producer in whose place the test acknowledges."""

import asyncio
from typing import Any

from aiokafka.producer.message_accumulator import BatchBuilder

from tokenmill.observe import Numbers
from tokenmill.partition import Partition, PartitionSettings
from tokenmill.records import InputRecord
from tokenmill.worker.lane import Lane, Publication
from tokenmill.worker.outbox import Outbox
from tokenmill.worker.snapshots import LaneSnapshots


class SlowPublisher:
    """A publisher whose batches are on their way until the test says what becomes of them."""

    def __init__(self, batch_bytes: int) -> None:
        """`batch_bytes`: size of a batch; a small one makes many."""
        self.sent: list[asyncio.Future[None]] = []
        self.topics: list[str] = []
        """Where each of them goes."""
        self._batch_bytes = batch_bytes

    def create_batch(self) -> Any:
        return BatchBuilder(self._batch_bytes, 0)

    async def send_batch(self, _batch: Any, topic: str, *, partition: int) -> asyncio.Future[None]:  # noqa: ARG002 -- as the client's
        self.topics.append(topic)
        self.sent.append(asyncio.get_running_loop().create_future())
        return self.sent[-1]

    def lane(self, publication: Publication) -> Lane:
        """Make a live lane that publishes here, and writes nothing to its input."""
        inbox: Any = None
        lane = Lane(
            LaneSnapshots(Partition(PartitionSettings(), "tokens", 0), 0),
            ["events", "tokens.dlq"],
            lambda topic, settle: Outbox(self, topic, 0, acknowledged=lambda _: settle(), failed=_failed),
            inbox,
            Numbers(),
            publication,
        )
        lane.go_live()
        return lane


def _failed(problem: Exception) -> None:
    raise problem


def record(offset: int, value: bytes) -> InputRecord:
    """Return a record of the input of such a lane."""
    return InputRecord("tokens", 0, offset, 1, b"c", value)


async def turns() -> None:
    """Let everything that can run do so."""
    for _ in range(10):
        await asyncio.sleep(0)
