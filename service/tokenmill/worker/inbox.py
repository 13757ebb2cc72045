"""The way back to the input, for records that end messages which are idle or too old.

A timestamp that the broker rejects does not end the worker: the next look finds the same messages.
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
    """An outbox that survives timestamps which the broker rejects."""

    WHAT = "time-out records"

    misdated = False
    """Whether a record was refused for its timestamp: this host's clock is not the broker's."""

    def flush(self) -> None:
        """As `Outbox.flush`, but one batch at a time.

        The client numbers what it sends, and what follows a batch that was refused must have that batch's number.
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
        self.acked += 1  # nothing waits for it any longer
        log.warning(
            "%s/%d: the broker rejected the timestamps of %d time-out records; they are written again with that of the "
            "partition's last record: is this host's clock right?",
            *(self._topic, self._partition, records),
        )
