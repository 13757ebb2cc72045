"""The way back to the input, for records that end what is idle or too old.

One that the broker does not take ends no worker: whoever wrote it finds the same idle the next time.
"""

import asyncio
import logging
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import InvalidTimestampError

from tokenmill.kafka.aiokafka_inside import take_back
from tokenmill.worker.outbox import Outbox

log = logging.getLogger(__name__)


class Inbox(Outbox):
    """As an outbox, but for times that the broker does not believe."""

    WHAT = "records that end what is idle"

    misdated = False
    """Whether a record was refused for its timestamp: this host's clock is not the broker's."""

    def flush(self) -> None:
        """As an outbox, but one batch at a time.

        The client numbers what it sends, and what follows a batch that was refused must have the number of that.
        """
        self._until = self.acked + 1
        super().flush()

    def _done(self, future: "asyncio.Future[Any]", *, size: int, records: int) -> None:
        super()._done(future, size=size, records=records)
        self.flush()

    def _not_taken(self, problem: BaseException, size: int, records: int) -> None:
        if not isinstance(problem, InvalidTimestampError):
            super()._not_taken(problem, size, records)
            return
        take_back(self._producer, TopicPartition(self._topic, self._partition), records)
        self.misdated = True
        self.acked += 1  # nobody waits for it any more
        log.warning(
            "%s/%d: the broker does not take the time of %d records that end what is idle; they are written again with "
            "that of the partition's last record: is this host's clock right?",
            *(self._topic, self._partition, records),
        )
