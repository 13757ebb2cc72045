"""Why an answer can't be had from a model server: what the client is told, what is logged, and whether to try again.

A server's words may quote a prompt: the client is told them, the log is not. Those about our key may quote the key:
nobody is told them.
"""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from tokenmill.observe.caller_table import FailureKind

TOO_LATE = "the answer was not over in time"
"""What a caller writes of an answer whose time is over."""

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses of a server that may answer otherwise the next time, or at another URL."""

CREDENTIALS = frozenset({401, 403})
"""Statuses that are about the key that we sent: no client can fix it, and an SDK would take them for its own key's."""

ELSEWHERE = CREDENTIALS | {404}
"""Statuses of a server that has another key than ours, or not our model: another of the same upstream may answer. All
that it says comes quickly, so it would always be the one with the fewest answers, and be asked first."""

IN_MS, IN_SECONDS = "retry-after-ms", "retry-after"
"""For how long a server asks not to be asked again: OpenAI's own header, which is more exact, and HTTP's, of seconds or
a date."""

RAW_CHARS = 4_096
"""Of a server's own words."""


class UpstreamFailed(Exception):
    """A model server did not answer, or not as it should.

    `status` is what a client is answered if nothing has come yet: the server's own where it gave one that is about the
    request. `logged` is what a log may say: the message, unless that may have words of the server's.
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
        self.said = status
        """The server's own status, where it gave one."""
        self.pause_s: float | None = None
        """For how long it asks not to be asked again."""


class NotAsked(UpstreamFailed):
    """What was to be asked could not be made, so that it came to no server: it says nothing of one."""


def refusal(status: int, message: str, raw: str = "", *, again: bool) -> UpstreamFailed:
    """Classify a server's own refusal.

    One of our key is not the client's affair, and its words may quote a part of the key: the client is told that the
    gateway is at fault, and nothing else.
    """
    logged = f"status {status}"
    if status not in CREDENTIALS:
        return UpstreamFailed(message, "refused", status, raw, again=again, logged=logged)
    message = "the model's server refused the gateway's own credentials for it; whoever runs the gateway can fix that"
    problem = UpstreamFailed(message, "refused", HTTPStatus.BAD_GATEWAY, again=False, logged=logged)
    problem.said = status
    return problem


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """For how many seconds from `now` a refusal asks for no other request; None where nothing that can be read says so.

    `now` is in seconds of the epoch.
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
    return parsedate_to_datetime(value).timestamp() - now
