"""Answers in one piece, for requests without `stream`: made of the events when all of them have come."""

import asyncio
import json
from collections.abc import AsyncIterable, Callable

from tokenmill.apis import Api
from tokenmill.apis.whole import whole_answer
from tokenmill.dialects import Renderer, find_dialect
from tokenmill.dialects.openai_responses import unbegun_response
from tokenmill.events import AnyEvent, Error, Finish, known_event
from tokenmill.front.failure import Failed, Opening, failure_of, late
from tokenmill.front.request_index import KnownRequest
from tokenmill.gateway.event_log.view import Frame

_TELLS = tuple(
    b'{"type":"response.%b"' % kind for kind in (b"created", b"in_progress", b"completed", b"incomplete", b"failed")
)
"""Beginnings of payloads that have the whole `response`."""

_BEGUN = "in_progress"
"""The status of a response that has no end yet."""

MORE_S = 10.0
"""Seconds beyond the time of an answer: its caller ends it in time, and the end has to arrive here."""


class Whole:
    """What there is of an answer: a function of its events. Only the last payload of its dialect is kept.

    Args:
        api: whose words it is in.
        begins: called at the first event that brings something.
    """

    def __init__(self, api: Api, begins: Callable[[], None] | None = None) -> None:
        self._api = api
        self._begins = begins
        self._opening = Opening()
        self._renderer = Renderer(find_dialect(api.whole))
        self._last: dict[int, bytes] = {}
        """The last payload of each choice."""
        self._response = b""
        """The last payload that has all of a response."""
        self._errors: list[Error] = []
        self.failure: Failed | None = None
        """Why it failed, once it is over."""
        self.over = False

    def take(self, frame: Frame) -> None:
        """Take the next event; one of a newer worker is skipped."""
        event = known_event(frame.payload)
        if event is not None:
            self._take(event)
        self.over = frame.ends

    def _take(self, event: AnyEvent) -> None:
        if self._begins is not None and self._opening.take(event):
            if self._opening.content:
                self._begins()
            self._begins = None
        for payload in self._renderer.render(event):
            self._last[event.choice] = payload
            if payload.startswith(_TELLS):
                self._response = payload
        if isinstance(event, Error):
            self._errors.append(event)
        if isinstance(event, Finish) and event.reason in ("error", "timeout"):
            self.failure = failure_of(event, self._errors)

    def body(self) -> bytes:
        """Return the answer as JSON, once all has come. Raises `Failed`."""
        if self.failure is not None:
            raise self.failure
        return whole_answer(self._api, {choice: [payload] for choice, payload in self._last.items()})

    def so_far(self) -> dict[str, object] | None:
        """Return the last object of the answer as a whole, in APIs that have one from the beginning.

        The status of an answer that is over says so, even where its state was lost and its stream ended without one.
        """
        if not self._response:
            return None
        response: dict[str, object] = json.loads(self._response)["response"]
        if self.over and response["status"] == _BEGUN:
            error = {"code": "server_error", "message": str(self.failure or "the answer did not end")}
            response |= {"status": "failed", "error": error}
        return response


def unbegun(known: KnownRequest, *, stopped: bool) -> dict[str, object]:
    """Return the object of a response that no caller has taken yet."""
    status = "cancelled" if stopped else "queued"
    response: dict[str, object] = json.loads(unbegun_response(known.message_id, known.time_ms, known.model, status))
    return response


async def collected(whole: Whole, frames: AsyncIterable[Frame], answer_s: float) -> bytes:
    """Return the body when all frames have come. Raises `Failed` and `Unavailable`."""
    try:
        async with asyncio.timeout(answer_s + MORE_S):
            async for frame in frames:
                whole.take(frame)
    except TimeoutError as problem:
        raise late() from problem
    return whole.body()
