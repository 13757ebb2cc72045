"""For how long a server asks not to be asked again, as it says with a refusal."""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

IN_MS, IN_SECONDS = "retry-after-ms", "retry-after"
"""OpenAI's own header, which is more exact, and the one of HTTP: seconds, or a date."""


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from `now`, in seconds of the epoch; None where it does not say, or what can't be read."""
    for name, read in ((IN_MS, _milliseconds), (IN_SECONDS, _seconds), (IN_SECONDS, _date)):
        try:
            found = read(headers[name], now)
        except (KeyError, ValueError, OverflowError):
            continue
        if math.isfinite(found):
            return max(0.0, found)
    return None


def _milliseconds(value: str, _now: float) -> float:
    return float(value) / 1000


def _seconds(value: str, _now: float) -> float:
    return float(value)


def _date(value: str, now: float) -> float:
    return parsedate_to_datetime(value).timestamp() - now
