"""An answer that failed before anything came of it: it is told by a status, as if there had been no log between."""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import UNSET

from tokenmill.caller.failure import TOO_LATE
from tokenmill.events import AnyEvent, Error, Finish, MessageStart, Part

BAD_REQUEST, BAD_GATEWAY, LATE = 400, 502, 504

EMPTY = (MessageStart, Part)
"""Events that bring nothing: of parts, what callers say of themselves, and what a client shows beside an answer."""


NOT_AGAIN = {"x-should-retry": "false"}
"""Header that keeps SDKs from trying again what has no other outcome."""


class Failed(Exception):
    """The answer can't be had. `raw` is what the model's server said, if it said something."""

    def __init__(self, status: int, message: str, raw: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.raw = raw
        self.headers = dict(headers or {})


class Opening(msgspec.Struct):
    """What the first events of a message add up to."""

    content: bool = False
    """Something has come, or all there is is a sound end."""
    failure: Failed | None = None
    """It is over, and nothing has come."""
    _said: Error | None = None

    def take(self, event: AnyEvent) -> bool:
        """The next event. Returns whether it is known now how to answer."""
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
    """Why an answer failed, from its end and the errors before."""
    said = next((error for error in errors if error.code == "upstream"), None)
    if said is None:
        return late() if finish.reason == "timeout" else Failed(BAD_GATEWAY, "the answer was lost")
    status = BAD_GATEWAY if said.status is UNSET or said.status < BAD_REQUEST else said.status  # no failure is a 200
    raw = "" if said.raw is UNSET else said.raw
    if (status, said.message) == (LATE, TOO_LATE):
        return late()
    return Failed(status, said.message, raw)


def late() -> Failed:
    """That of an answer that was not over in time. An SDK that tries again would wait as long once more."""
    return Failed(LATE, TOO_LATE, headers=NOT_AGAIN)
