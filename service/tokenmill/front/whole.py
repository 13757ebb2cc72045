"""Answers in one piece, for requests without `stream`: made from the events once all of them have come."""

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

_WHOLE_RESPONSE = tuple(
    b'{"type":"response.%b"' % kind for kind in (b"created", b"in_progress", b"completed", b"incomplete", b"failed")
)
"""Beginnings of payloads that contain the whole `response` object."""

_BEGUN = "in_progress"
"""The status of a response that has not ended."""

MORE_S = 10.0
"""Seconds that are added to `front.answer_s`: the caller ends the answer in time, and that end has to arrive here."""


class Whole:
    """Collects an answer from its events. Of the rendered payloads it keeps the last of each choice only.

    Args:
        api: the API in whose shape the answer is returned.
        begins: called at the first event with content.
    """

    def __init__(self, api: Api, begins: Callable[[], None] | None = None) -> None:
        self._api = api
        self._begins = begins
        self._opening = Opening()
        self._renderer = Renderer(find_dialect(api.whole))
        self._last: dict[int, bytes] = {}
        """The last payload of each choice."""
        self._response = b""
        """The last payload that contains the whole `response` object."""
        self._errors: list[Error] = []
        self.failure: Failed | None = None
        """Why the answer failed; None while it has not."""
        self.over = False
        """Whether the message has ended."""

    def take(self, frame: Frame) -> None:
        """Take the next frame. An event of an unknown type, from a newer worker, is skipped."""
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
            if payload.startswith(_WHOLE_RESPONSE):
                self._response = payload
        if isinstance(event, Error):
            self._errors.append(event)
        if isinstance(event, Finish) and event.reason in ("error", "timeout"):
            self.failure = failure_of(event, self._errors)

    def body(self) -> bytes:
        """Return the answer as JSON, once it is over. Raises `Failed` if it failed."""
        if self.failure is not None:
            raise self.failure
        return whole_answer(self._api, {choice: [payload] for choice, payload in self._last.items()})

    def so_far(self) -> dict[str, object] | None:
        """Return the latest `response` object of the Responses API; None before the first, and for other APIs.

        If the message is over without a final object, as after its state was lost, the status is `failed`.
        """
        if not self._response:
            return None
        response: dict[str, object] = json.loads(self._response)["response"]
        if self.over and response["status"] == _BEGUN:
            error = {"code": "server_error", "message": str(self.failure or "the answer did not end")}
            response |= {"status": "failed", "error": error}
        return response


def unbegun(known: KnownRequest, *, stopped: bool) -> dict[str, object]:
    """Return the `response` object of a request that no caller has taken yet."""
    status = "cancelled" if stopped else "queued"
    response: dict[str, object] = json.loads(unbegun_response(known.message_id, known.time_ms, known.model, status))
    return response


async def collected(whole: Whole, frames: AsyncIterable[Frame], answer_s: float) -> bytes:
    """Return the answer as JSON once all frames have come.

    Raises `Unavailable`, and `Failed`, also after `answer_s`.
    """
    try:
        async with asyncio.timeout(answer_s + MORE_S):
            async for frame in frames:
                whole.take(frame)
    except TimeoutError as problem:
        raise late() from problem
    return whole.body()
