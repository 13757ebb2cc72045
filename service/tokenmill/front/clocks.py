"""Whether the clocks of fronts and callers agree: answers are looked for, and given up, by the times of records.

An answer's first event has the time of its caller's first record. It can't be earlier than the request, nor later than
now, unless the clocks differ.
"""

import logging
import time

import msgspec

from tokenmill.errors import NOT_JSON
from tokenmill.observe import Numbers

log = logging.getLogger(__name__)

CLOCKS_MS = 5_000
"""Milliseconds by which the clocks of fronts and callers may differ. An answer is looked for this much earlier."""


class _Timed(msgspec.Struct):
    """What is read of an event."""

    time: int | None = None


class Clocks:
    """Compares this front's clock with those of callers."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    def compare(self, asked_ms: int, payload: bytes) -> None:
        """Take the first event of an answer that was asked for here at this time, and has just come."""
        try:
            began_ms = msgspec.json.decode(payload, type=_Timed).time
        except NOT_JSON:
            return
        if began_ms is None:
            return
        ahead_ms = began_ms - int(time.time() * 1000)
        apart_ms, side = max((ahead_ms, "ahead of"), (asked_ms - began_ms, "behind"))
        if apart_ms > CLOCKS_MS:
            self._numbers.add("tokenmill_front_clocks_apart_total")
            log.warning("a caller's clock is %.1f s %s this front's: run NTP on both machines", apart_ms / 1000, side)
