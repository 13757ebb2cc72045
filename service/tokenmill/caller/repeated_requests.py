"""Which requests ask again for what an earlier record of the same `Idempotency-Key` and attempt has asked for."""

from collections import OrderedDict

from tokenmill.apis.record import RequestRecord
from tokenmill.config import Front

KEYS_KEPT = 10_000
"""Two fronts that write the same request do so within moments."""

SHARE = 0.5
"""Of the time for which fronts know a key at least. They forget by each other's clocks, and sooner where very many ask:
what a front takes for a new request must not be a repeat here, as nobody would answer it."""


class RepeatedRequests:
    """Tells repeats from the first request of each key and attempt."""

    def __init__(self, settings: Front) -> None:
        self._keep_ms = max(settings.remember_s, settings.retry_s) * 1000 * SHARE
        self._first: OrderedDict[tuple[str, int], tuple[str, int]] = OrderedDict()

    def repeats(self, request: RequestRecord, time_ms: int) -> bool:
        """Whether an earlier record, about as old as this one, asked for the same under another id."""
        if not request.key:
            return False
        asked = request.key, request.attempt
        message_id, first_ms = self._first.get(asked, (request.message_id, time_ms))
        if message_id != request.message_id and abs(time_ms - first_ms) <= self._keep_ms:
            return True  # either way: clocks differ, and what is read again after another one's time counts again
        self._first[asked] = request.message_id, time_ms
        self._first.move_to_end(asked)
        if len(self._first) > KEYS_KEPT:
            self._first.popitem(last=False)
        return False
