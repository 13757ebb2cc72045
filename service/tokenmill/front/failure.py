"""Failures of answers: one without content yet is reported by an HTTP status, as the model server itself would."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus

import msgspec
from msgspec import UNSET

from tokenmill.caller.failure import TOO_LATE
from tokenmill.events import AnyEvent, Error, Finish, MessageStart, Part

LOST = "the answer was lost; send the request again"

EMPTY = (MessageStart, Part)
"""Events without content of the answer. A part is a note of a caller, or something that a client shows beside it."""


NOT_AGAIN = {"x-should-retry": "false"}
"""Header that keeps SDKs from retrying a request that would fail in the same way."""


class Failed(Exception):
    """An answer failed.

    `status` and `headers` are those of the HTTP response. `raw` is the body of the model server's error, or empty.
    """

    def __init__(self, status: int, message: str, raw: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.raw = raw
        self.headers = dict(headers or {})


class Opening(msgspec.Struct):
    """Decides from the first events of a message whether to answer with its content or with an error status."""

    content: bool = False
    """Whether content has come, or the message ended without content and without a failure."""
    failure: Failed | None = None
    """Why the message failed before its content; None if it did not."""
    _upstream_error: Error | None = None

    def take(self, event: AnyEvent) -> bool:
        """Take the next event. Return whether it decides how to answer."""
        if isinstance(event, EMPTY):
            return False
        if isinstance(event, Error) and event.code == "upstream":
            self._upstream_error = event
            return False
        if isinstance(event, Finish) and event.reason in ("error", "timeout"):
            self.failure = failure_of(event, [self._upstream_error] if self._upstream_error else [])
        else:
            self.content = True
        return True


def failure_of(finish: Finish, errors: Iterable[Error]) -> Failed:
    """Return why an answer failed, from its `finish` event and the errors before it."""
    error = next((each for each in errors if each.code == "upstream"), None)
    if error is None:
        return late() if finish.reason == "timeout" else Failed(HTTPStatus.BAD_GATEWAY, LOST)
    given = HTTPStatus.OK if error.status is UNSET else error.status
    status = HTTPStatus.BAD_GATEWAY if given < HTTPStatus.BAD_REQUEST else given  # no failure is a 200
    raw = "" if error.raw is UNSET else error.raw
    if (status, error.message) == (HTTPStatus.GATEWAY_TIMEOUT, TOO_LATE):
        return late()
    return Failed(status, error.message, raw)


def late() -> Failed:
    """Return the failure of an answer that was not over in time.

    An SDK must not retry it: it would wait as long again.
    """
    return Failed(HTTPStatus.GATEWAY_TIMEOUT, TOO_LATE, headers=NOT_AGAIN)
