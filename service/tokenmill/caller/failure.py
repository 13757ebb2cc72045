"""Failures of model servers: the error for the client, the text for the log, and whether another try may help.

A server's own words may quote a prompt: the client gets them, the log does not. Its words about our key may quote the
key: nobody gets them.
"""

import math
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from tokenmill.observe.caller_table import FailureKind

TOO_LATE = "the answer was not over in time"
"""Message of the error that ends an answer whose time is over. Fronts recognize the answer by it, whatever their
version."""

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which another try may succeed, at the same URL or at another one."""

CREDENTIALS = frozenset({401, 403})
"""Statuses about the key that we sent: no client can fix it, and an SDK would take them to be about its own key."""

ELSEWHERE = CREDENTIALS | {404}
"""Statuses of a server that expects another key than ours, or lacks our model: another URL of the same upstream may
answer. As such a server refuses quickly, it would always have the fewest answers, and be asked first."""

IN_MS, IN_SECONDS = "retry-after-ms", "retry-after"
"""Headers with the time until a server wants the next request: OpenAI's own, in milliseconds, and HTTP's, in seconds or
as a date (RFC 9110, 10.2.3)."""

RAW_CHARS = 4_096
"""Characters that are kept of the body of a server's error."""


class UpstreamFailed(Exception):
    """A model server did not answer, or its answer is of no use.

    `status` is the HTTP status for a client whose answer has not begun: the server's own if it is about the request.
    `raw` is the body of the server's error. `logged` is the text for the log: `message`, unless that may have words of
    the server.
    """

    def __init__(
        self,
        message: str,
        kind: FailureKind,
        status: int = HTTPStatus.BAD_GATEWAY,
        raw: str = "",
        *,
        again: bool = True,
        logged: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.raw = raw[:RAW_CHARS]
        self.again = again
        """Whether another try may help."""
        self.logged = logged or message
        self.server_status = status
        """The server's own status, if it gave one; else `status`."""
        self.pause_s: float | None = None
        """Seconds until the server wants the next request; None if it did not say."""


class NotAsked(UpstreamFailed):
    """The request to a server could not be made, so this failure does not count against any server."""


def refusal(status: int, message: str, raw: str = "", *, again: bool) -> UpstreamFailed:
    """Return the failure for a server's own refusal.

    A refusal of our key is no concern of the client, and its words may quote a part of the key: so the client only
    learns that the gateway is at fault.
    """
    logged = f"status {status}"
    if status not in CREDENTIALS:
        return UpstreamFailed(message, "refused", status, raw, again=again, logged=logged)
    message = "the model's server refused the gateway's own credentials; ask the gateway's operator to fix them"
    problem = UpstreamFailed(message, "refused", HTTPStatus.BAD_GATEWAY, again=False, logged=logged)
    problem.server_status = status
    return problem


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds from `now` until a refusal allows the next request; None if no header has a valid time.

    `now` is in seconds since the epoch.
    """
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
    date = parsedate_to_datetime(value)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now  # not the time zone of this machine
