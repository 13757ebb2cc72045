"""One answer: a request is read, a model server is called, and its output becomes chunks, up to an end.

1. It opens its message before it has a place at a server, so readers see that it is alive, and which writer it has.
2. It ends with an `Outcome`, exactly once. Only an answer that is no longer wanted leaves its end to others: to a
   `finish` that it did not cause, or to a writer that has taken over.
3. It does not outlive its time for long, whether Kafka takes its end or not. If that is unknown, the answer is `left`:
   it is looked after like those of lost callers (`inheritance`), and gets an end there.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import msgspec

from tokenmill.apis import APIS
from tokenmill.apis.ask import Ask, BadAsk, Json
from tokenmill.apis.record import ApiName, RequestRecord, body_of
from tokenmill.caller.failure import TOO_LATE, UpstreamFailed
from tokenmill.caller.http import Http
from tokenmill.caller.kinds import Plan
from tokenmill.caller.pace import pause_s, together
from tokenmill.caller.renderer import Renderer
from tokenmill.caller.served import Served, unknown_model
from tokenmill.caller.trying import Tries
from tokenmill.caller.writing import ChunkWriter
from tokenmill.codecs import Chunk, ProviderPart
from tokenmill.gateway.ingest.pipelined_writer import RecordProducer
from tokenmill.gateway.problems import Refused
from tokenmill.observe.caller_table import Outcome
from tokenmill.partition.identity import choice_index
from tokenmill.records import Headers

log = logging.getLogger(__name__)

END_S = 30.0
"""Seconds after its time in which its end has to be in the log: twice what a record may take to be acknowledged."""

TAKEOVER = "tm-takeover"
"""Header that names the caller in the records with which it takes an answer over."""

TAKEOVER_PART = "takeover"
"""Kind of the `part` event that says that another caller continued, and how."""


class Resources:
    """What all answers of a process share."""

    def __init__(
        self,
        models: Mapping[str, Served],
        producer: RecordProducer,
        first: RecordProducer,
        http: Http,
        renderer: Renderer,
        tokens: str,
        *,
        native: bool,
    ) -> None:
        """`tokens` is the topic of chunks, whose records are `native` ones unless they say otherwise. `first` writes
        them up to an answer's first token.
        """
        self.models = models
        self.producer = producer
        self.first = first
        self.http = http
        self.renderer = renderer
        self.tokens = tokens
        self.native = native


class Answer:
    """The answer to one request.

    Args:
        resources: of the process.
        conversation: of the request.
        request: what is asked.
        until_ms: when it has to be over, in milliseconds since the epoch.
        attempt: how many callers had it before.
        tracing: headers of the records that open it, and of the requests to model servers.
    """

    def __init__(
        self,
        resources: Resources,
        conversation: str,
        request: RequestRecord,
        *,
        until_ms: float,
        attempt: int = 0,
        tracing: Headers = (),
    ) -> None:
        self._resources = resources
        self._request = request
        self._attempt = attempt
        self._until = until_ms / 1000
        """In seconds since the epoch."""
        self.conversation = conversation
        self.tracing = tracing
        self._begun = ""
        """Text left by earlier callers that this answer continues."""
        self._told = not attempt
        """Whether the events say how it was taken over."""
        self.first_s: float | None = None
        """Seconds from its start to the first token."""
        self.usage: dict[str, Any] | None = None
        """Token counts, as the server gave them."""
        self.reasons: dict[int, str] = {}
        """Why choices ended, in the server's words."""
        self.failure = ""
        """Kind of the last failure."""
        self._began_at = time.monotonic()
        self._choices = 1
        self.unwanted = False
        """Whether it was stopped, and its end is written by another."""
        self.refused: Refused | None = None
        """Why no caller can continue it."""
        self.left = False
        """Whether it is over here without it being known whether its end is in the log."""
        self._ended = set[int]()
        """Choices whose end was written."""
        self._ending = False
        """Whether all ends are written, or about to be."""
        self._opened = asyncio.Event()
        self.writer = ChunkWriter(
            resources.producer,
            resources.tokens,
            conversation,
            request.message_id,
            attempt=attempt,
            native=resources.native,
            first=resources.first,
        )

    async def take_over(self, name: bytes) -> None:
        """Take over an answer that another caller began: from here on what that caller writes has no effect.

        `name` is in the records, to see who was first where several try.
        """
        options, choices = dict[str, Any](), 1
        with suppress(BadAsk):
            served, plan = self.read()
            options, choices = served.options(plan.ask, begins=bool(plan.begins)), plan.ask.n
        self._choices, headers = choices, [(TAKEOVER, name), *self.tracing]
        try:
            await self.writer.open(options, choices, headers)
        except Refused as problem:  # larger than Kafka takes: all that can be done is to end it
            self.refused = problem
            await self.writer.open({}, choices, headers)

    @property
    def continues(self) -> bool:
        """Whether it can be continued in the middle of its text."""
        try:
            served, plan = self.read()
        except BadAsk:
            return False
        ask = plan.ask  # a server holds new text to a shape from its first token, not from the text so far
        return served.upstream.continues and ask.n == 1 and ask.response_format is None

    def go_on(self, text: str) -> None:
        """Continue the text that earlier callers left."""
        self._begun = text

    async def give_up(self, message: str, status: int) -> Outcome:
        """End it as failed, with the reason of its refusal if it has one; else like `run`."""
        return await self._to_end(self._given_up(message, status))

    async def end(self) -> Outcome:
        """Write the end of an answer that is otherwise complete in the log; else like `run`."""
        return await self._to_end(self._only_ended())

    async def end_stopped(self) -> Outcome:
        """End an answer that was taken over and had been stopped before it began; else like `run`."""
        return await self._to_end(self._only_cancelled())

    async def cancel(self) -> None:
        """Have the worker end it once it is open: an earlier stop has no effect there."""
        await self._opened.wait()
        try:
            await self.writer.cancel()
        except Refused as problem:
            log.warning("an answer that was stopped is still written: %s", problem.detail)

    @property
    def choices(self) -> int:
        """Number of choices that were asked for."""
        return self._choices

    @property
    def took_s(self) -> float:
        """Seconds since its start."""
        return time.monotonic() - self._began_at

    def stop(self, task: "asyncio.Task[Any]") -> None:
        """End it here, as it has ended in the log: the server is left immediately."""
        if self._ending:
            return
        self.unwanted = True
        task.cancel()

    async def run(self) -> Outcome:
        """Run to its end, which is in the log then unless it is `left`. If cancelled, the next caller continues it."""
        return await self._to_end(self._in_time())

    async def _to_end(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Return the outcome, once it is in the log."""
        try:
            async with asyncio.timeout(max(0.0, self._left_s) + END_S):
                outcome = await work
                await self.writer.acknowledged()
        except TimeoutError:
            log.warning("Kafka does not take the end of an answer, which is looked after again: %s", self._message_id)
            self.left = True
            return "expired"
        except asyncio.CancelledError:
            if self.unwanted:
                return "stopped"
            raise
        return outcome

    @property
    def _message_id(self) -> str:
        return self._request.message_id

    @property
    def _left_s(self) -> float:
        """Seconds left of its time."""
        return self._until - time.time()

    async def _in_time(self) -> Outcome:
        try:
            async with asyncio.timeout(self._left_s):
                return await self._answered()
        except TimeoutError:
            self.failure = "late"
            log.warning("an answer was not over in time: %s", self._message_id)
            await self._fail(TOO_LATE, HTTPStatus.GATEWAY_TIMEOUT)
            return "expired"

    async def _given_up(self, message: str, status: int) -> Outcome:
        await self._open({}, 1)
        if self.refused is not None:
            message, status = self.refused.detail, self.refused.kind.status
        await self._fail(message, status)
        return "refused"

    async def _only_ended(self) -> Outcome:
        self._ending = True
        for choice in range(self._choices):
            await self.writer.put(Chunk(choice=choice, end=True))
        return "finished"

    async def _only_cancelled(self) -> Outcome:
        self._ending = True
        await self.writer.acknowledged()
        await self.writer.cancel()
        return "stopped"

    @property
    def _tries(self) -> Tries:
        name, resources = f"{self._request.message_id}-{self._attempt}", self._resources
        return Tries(
            resources.http, resources.renderer, name, self, self._until, self.tracing, goes_on=bool(self._begun)
        )

    async def _answered(self) -> Outcome:
        try:
            served, model = await self._open_as_asked()
            await self._tries.generate(served, model, lambda: self.read()[1])
        except BadAsk as problem:
            await self._open({}, 1)
            unknown = problem.code == "model_not_found"
            await self._fail(str(problem), HTTPStatus.NOT_FOUND if unknown else HTTPStatus.BAD_REQUEST)
            return "refused"
        except Refused as problem:  # a record that is larger than Kafka takes
            await self._open({}, self._choices)
            await self._fail(problem.detail, problem.kind.status)
            return "failed" if self.first_s is not None else "refused"
        except UpstreamFailed as problem:
            self.failure = problem.kind
            await self._fail(str(problem), problem.status, problem.raw)
            return "failed" if self.first_s is not None else "refused"
        return "finished"

    async def _open_as_asked(self) -> tuple[Served, str]:
        """Open it, and return the model and its name at the server. Raises `BadAsk`, and `Refused` as the writer does.

        The request is not kept as it was read: that takes several times its bytes, and a place may be far.
        """
        served, plan = self.read()
        self._choices = plan.ask.n
        await self._open(served.options(plan.ask, begins=bool(plan.begins)), plan.ask.n)
        return served, plan.model

    def read(self) -> tuple[Served, Plan]:
        """Return the model and what is asked of it. The front read it too, but maybe with another configuration.

        Raises `BadAsk`.
        """
        body = body_of(self._request)
        ask = _ask_of(self._request.api, body)
        served = self._resources.models.get(ask.model)
        if served is None:
            raise unknown_model(ask.model, self._resources.models)
        plan = served.plan(ask, self._request.api, body)
        return served, msgspec.structs.replace(plan, begins=self._begun or plan.begins, betas=self._request.betas)

    async def _open(self, options: dict[str, Any], choices: int) -> None:
        if not self._attempt:  # who takes over has opened it
            await self.writer.open(options, choices, self.tracing)
        self._opened.set()

    async def _fail(self, message: str, status: int, raw: str = "") -> None:
        self._ending = True
        await self.writer.fail(message, status, raw, self._choices)

    @property
    def pause_s(self) -> float:
        """Seconds that incoming bytes may be left in the socket; for `Tries`."""
        return together(pause_s(self._resources.producer.acknowledged_s), time.monotonic())

    async def put(self, chunk: Chunk) -> None:
        """Write a chunk of the model; for `Tries`."""
        if self.first_s is None:
            self.first_s = time.monotonic() - self._began_at
        if not self._told and (not self._begun or chunk.end is True):
            self._told = True  # behind the text of the one before: a part cuts what waits to become a marker
            how = "continued" if self._begun else "called-again"
            await self.writer.put(Chunk(choice=chunk.choice, part=ProviderPart(TAKEOVER_PART, {"how": how})))
        self.usage = chunk.usage or self.usage
        if chunk.finish_reason is not None:
            self.reasons[choice_index(chunk)] = chunk.finish_reason
        if chunk.end is True:
            self._ended.add(choice_index(chunk))
            self._ending = len(self._ended) == self._choices
        await self.writer.put(chunk)


_BY_NAME = {api.name: api for api in APIS}


def _ask_of(api: ApiName, body: Json) -> Ask:
    """Read what a body asks for. Raises `BadAsk`."""
    return _BY_NAME[api].read(body)
