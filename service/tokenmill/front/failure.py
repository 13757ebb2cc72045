"""Answers that failed before anything came of them: a status reports that, as if there were no log in between."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus

import msgspec
from msgspec import UNSET

from tokenmill.caller.failure import TOO_LATE
from tokenmill.events import AnyEvent, Error, Finish, MessageStart, Part

EMPTY = (MessageStart, Part)
"""Events that bring nothing of the answer. Parts are notes of callers, or what a client shows beside an answer."""


NOT_AGAIN = {"x-should-retry": "false"}
"""Header that keeps SDKs from retrying what would end the same way."""


class Failed(Exception):
    """The answer can't be had. `raw` is the body of the model server's error, if it sent one."""

    def __init__(self, status: int, message: str, raw: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.raw = raw
        self.headers = dict(headers or {})


class Opening(msgspec.Struct):
    """Decides from the first events of a message how to answer."""

    content: bool = False
    """Whether something has come, or the message ended well without anything."""
    failure: Failed | None = None
    """Why it is over before anything came; None if it is not."""
    _said: Error | None = None

    def take(self, event: AnyEvent) -> bool:
        """Take the next event. Returns whether it decides how to answer."""
        if isinstance(event, EMPTY):
            return False
        if isinstance(event, Error) and event.code == "upstream":
            self._said = event
            return False
        if isinstance(event, Finish) and event.reason in ("error", "timeout"):
            self.failure = failure_of(event, [self._said] if self._said else [])
        else:
            self.content = True
        return True


def failure_of(finish: Finish, errors: Iterable[Error]) -> Failed:
    """Return why an answer failed, from its end and the errors before."""
    said = next((error for error in errors if error.code == "upstream"), None)
    if said is None:
        return late() if finish.reason == "timeout" else Failed(HTTPStatus.BAD_GATEWAY, "the answer was lost")
    given = HTTPStatus.OK if said.status is UNSET else said.status
    status = HTTPStatus.BAD_GATEWAY if given < HTTPStatus.BAD_REQUEST else given  # no failure is a 200
    raw = "" if said.raw is UNSET else said.raw
    if (status, said.message) == (HTTPStatus.GATEWAY_TIMEOUT, TOO_LATE):
        return late()
    return Failed(status, said.message, raw)


def late() -> Failed:
    """Return the failure of an answer that was not over in time. An SDK that retried it would wait as long again."""
    return Failed(HTTPStatus.GATEWAY_TIMEOUT, TOO_LATE, headers=NOT_AGAIN)
