"""Finds repeated requests: those for which an earlier record has the same key and attempt."""

from collections import OrderedDict

from tokenmill.apis.record import RequestRecord
from tokenmill.config import Front

KEYS_KEPT = 10_000
"""Number of keys that are kept: two fronts that write the same request do so within moments."""

SHARE = 0.5
"""Share of the fronts' time for a key after which it is dropped here. Fronts drop keys by other clocks, and earlier if
there are very many requests: a request that is new for a front must not be a repeat here, as it would get no answer."""


class RepeatedRequests:
    """Keeps the first request of each key and attempt, to recognize its repeats."""

    def __init__(self, settings: Front) -> None:
        self._keep_ms = max(settings.remember_s, settings.retry_s) * 1000 * SHARE
        self._first: OrderedDict[tuple[str, int], tuple[str, int]] = OrderedDict()

    def repeats(self, request: RequestRecord, time_ms: int) -> bool:
        """Whether an earlier record of about the same time has the same key and attempt, and another message id.

        `time_ms` is the record's time, in milliseconds since the epoch.
        """
        if not request.key:
            return False
        asked = request.key, request.attempt
        message_id, first_ms = self._first.get(asked, (request.message_id, time_ms))
        if message_id != request.message_id and abs(time_ms - first_ms) <= self._keep_ms:
            return True  # in either direction: clocks differ, and an old record may be read again after a newer one
        self._first[asked] = request.message_id, time_ms
        self._first.move_to_end(asked)
        if len(self._first) > KEYS_KEPT:
            self._first.popitem(last=False)
        return False
