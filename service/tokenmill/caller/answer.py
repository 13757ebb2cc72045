"""One answer: reads a request, calls a model server, and writes the output as chunks, up to an end.

1. An answer opens its message before it has a place at a server, so that the log shows that it is alive, and which
   writer it has.
2. It ends with an `Outcome`, exactly once. Only an answer that is `unwanted` leaves its end to others: to a `finish`
   that is in the log already, or to a writer that has taken over.
3. It ends soon after its time is over, whether or not Kafka takes its end. If it is unknown whether the end is in the
   log, the answer is `left`: like the answers of lost callers it is inherited, and ended there (`inheritance`).
"""

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
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
"""Seconds after an answer's time in which its end has to be in the log: twice the time for an acknowledgement."""

TAKEOVER = "tm-takeover"
"""Header that identifies the writer of records that take an answer over."""

TAKEOVER_PART = "takeover"
"""Kind of the `part` event that reports that another caller has taken the answer over, and how it continues."""


@dataclass(frozen=True)
class Resources:
    """The objects that all answers of a process share."""

    models: Mapping[str, Served]
    producer: RecordProducer
    first: RecordProducer
    """Writes an answer's records up to its first token; `producer` writes the later ones."""
    http: Http
    renderer: Renderer
    tokens: str
    """The topic of chunks."""
    native: bool = field(kw_only=True)
    """Whether `native` is the codec of its records that have no `tm-codec`."""


class Answer:
    """The answer to one request.

    Args:
        resources: those of the process.
        conversation: the request's conversation.
        request: the request to answer.
        until_ms: when the answer has to be over, in milliseconds since the epoch.
        attempt: the number of its writer's range (`writing`): 0, unless it takes an answer over.
        tracing: headers for the records that open the message, and for the requests to model servers.
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
        self.message_id = request.message_id
        self._attempt = attempt
        self._until = until_ms / 1000
        """When the answer has to be over, in seconds since the epoch."""
        self.conversation = conversation
        self.tracing = tracing
        self._earlier_text = ""
        """Text written by earlier callers, which this answer continues."""
        self._takeover_noted = not attempt
        """Whether a `part` event reports the takeover, or none is needed."""
        self.first_s: float | None = None
        """Seconds from its start to the first token."""
        self.usage: dict[str, Any] | None = None
        """Token counts, as the server gave them."""
        self.reasons: dict[int, str] = {}
        """The server's finish reason by choice."""
        self.failure = ""
        """Kind of the last failure; empty if there was none."""
        self._began_at = time.monotonic()
        self.choices = 1
        """Number of choices that were asked for."""
        self.unwanted = False
        """Whether the message has ended in the log, or has another writer, so that this answer must not end it."""
        self.refused: Refused | None = None
        """Why no caller can continue it: Kafka refused the record that opens it."""
        self.left = False
        """Whether it is over here, and it is unknown whether its end is in the log."""
        self._ended = set[int]()
        """Choices whose end was written."""
        self._ending = False
        """Whether all ends are written, or are being written."""
        self._opened = asyncio.Event()
        self.writer = ChunkWriter(
            resources.producer,
            resources.tokens,
            conversation,
            self.message_id,
            attempt=attempt,
            native=resources.native,
            first=resources.first,
        )

    async def take_over(self, name: bytes) -> None:
        """Take over an answer that another caller began: records that it writes after ours have no effect.

        `name` is in the records: if several callers try, it shows which record is the first in the log.
        """
        options, choices = dict[str, Any](), 1
        with suppress(BadAsk):
            served, plan = self.read()
            options, choices = served.options(plan.ask, begins=bool(plan.begins)), plan.ask.n
        self.choices, headers = choices, [(TAKEOVER, name), *self.tracing]
        try:
            await self.writer.open(options, choices, headers)
        except Refused as problem:  # the record is larger than Kafka takes: the answer can only be ended
            self.refused = problem
            await self.writer.open({}, choices, headers)

    @property
    def continues(self) -> bool:
        """Whether the answer can be continued in the middle of its text: for one choice, and text without a shape."""
        try:
            served, plan = self.read()
        except BadAsk:
            return False
        ask = plan.ask  # a server applies a shape to the new text alone, as if that were all of the answer
        return served.upstream.continues and ask.n == 1 and ask.response_format is None

    def continue_text(self, text: str) -> None:
        """Have `run` continue the text that earlier callers wrote."""
        self._earlier_text = text

    async def give_up(self, message: str, status: int) -> Outcome:
        """End the answer as failed, with this message and status, or those of its refusal. Return as `run` does."""
        return await self._run_to_end(self._write_refusal(message, status))

    async def end(self) -> Outcome:
        """Write the end of an answer that is otherwise complete in the log. Return as `run` does."""
        return await self._run_to_end(self._write_ends())

    async def end_stopped(self) -> Outcome:
        """End an answer that was taken over, and had been stopped before it began. Return as `run` does."""
        return await self._run_to_end(self._write_stop())

    async def cancel(self) -> None:
        """Have the worker end the message once it is open: the worker ignores a stop that comes before."""
        await self._opened.wait()
        try:
            await self.writer.cancel()
        except Refused as problem:
            log.warning("the stop of an answer was not written, so the answer continues: %s", problem.detail)

    @property
    def took_s(self) -> float:
        """Seconds since its start."""
        return time.monotonic() - self._began_at

    def stop(self, task: "asyncio.Task[Any]") -> None:
        """Cancel the answer's task, as its message has ended in the log or has another writer.

        The connection to the server is closed immediately. An answer that is writing its ends goes on with that.
        """
        if self._ending:
            return
        self.unwanted = True
        task.cancel()

    async def run(self) -> Outcome:
        """Generate the answer to its end. Return the outcome once it is in the log, or the answer is `left`.

        If this is cancelled, the answer stays without an end, and the next caller takes it over.
        """
        return await self._run_to_end(self._generate_in_time())

    async def _run_to_end(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Return the outcome of `work` once all its records are acknowledged."""
        try:
            async with asyncio.timeout(max(0.0, self.left_s) + END_S):
                outcome = await work
                await self.writer.acknowledged()
        except TimeoutError:
            log.warning("Kafka did not acknowledge the end of an answer, which will be recovered: %s", self.message_id)
            self.left = True
            return "expired"
        except asyncio.CancelledError:
            if self.unwanted:
                return "stopped"
            raise
        return outcome

    @property
    def left_s(self) -> float:
        """Seconds until the answer has to be over."""
        return self._until - time.time()

    async def _generate_in_time(self) -> Outcome:
        try:
            async with asyncio.timeout(self.left_s):
                return await self._generate()
        except TimeoutError:
            self.failure = "late"
            log.warning("an answer was not over in time: %s", self.message_id)
            await self._fail(TOO_LATE, HTTPStatus.GATEWAY_TIMEOUT)
            return "expired"

    async def _write_refusal(self, message: str, status: int) -> Outcome:
        await self._open({}, 1)
        if self.refused is not None:
            message, status = self.refused.detail, self.refused.kind.status
        await self._fail(message, status)
        return "refused"

    async def _write_ends(self) -> Outcome:
        self._ending = True
        for choice in range(self.choices):
            await self.writer.put(Chunk(choice=choice, end=True))
        return "finished"

    async def _write_stop(self) -> Outcome:
        self._ending = True
        await self.writer.acknowledged()
        await self.writer.cancel()
        return "stopped"

    async def _generate(self) -> Outcome:
        try:
            served, model = await self._open_as_asked()
            resources, name = self._resources, f"{self.message_id}-{self._attempt}"
            continued = bool(self._earlier_text)
            tries = Tries(
                resources.http, resources.renderer, name, self, self._until, self.tracing, continued=continued
            )
            await tries.generate(served, model, lambda: self.read()[1])
        except BadAsk as problem:
            await self._open({}, 1)
            unknown = problem.code == "model_not_found"
            await self._fail(str(problem), HTTPStatus.NOT_FOUND if unknown else HTTPStatus.BAD_REQUEST)
            return "refused"
        except Refused as problem:  # a record is larger than Kafka takes
            await self._open({}, self.choices)
            await self._fail(problem.detail, problem.kind.status)
            return "failed" if self.first_s is not None else "refused"
        except UpstreamFailed as problem:
            self.failure = problem.kind
            await self._fail(str(problem), problem.status, problem.raw)
            return "failed" if self.first_s is not None else "refused"
        return "finished"

    async def _open_as_asked(self) -> tuple[Served, str]:
        """Open the message. Return the model, and the name that its server knows it by. Raises `BadAsk` and `Refused`.

        The plan is not kept but made again later: it takes several times the request's bytes, and the answer may have
        to wait for its place at a server.
        """
        served, plan = self.read()
        self.choices = plan.ask.n
        await self._open(served.options(plan.ask, begins=bool(plan.begins)), plan.ask.n)
        return served, plan.model

    def read(self) -> tuple[Served, Plan]:
        """Return the model, and the plan of how to ask it.

        Raises `BadAsk`: the front has checked the request, but perhaps with another configuration.
        """
        body = body_of(self._request)
        ask = _ask_of(self._request.api, body)
        served = self._resources.models.get(ask.model)
        if served is None:
            raise unknown_model(ask.model, self._resources.models)
        plan = served.plan(ask, self._request.api, body)
        begins = self._earlier_text or plan.begins
        return served, msgspec.structs.replace(plan, begins=begins, betas=self._request.betas)

    async def _open(self, options: dict[str, Any], choices: int) -> None:
        if not self._attempt:  # else `take_over` has opened it
            await self.writer.open(options, choices, self.tracing)
        self._opened.set()

    async def _fail(self, message: str, status: int, raw: str = "") -> None:
        self._ending = True
        await self.writer.fail(message, status, raw, self.choices)

    @property
    def pause_s(self) -> float:
        """Seconds for which incoming bytes may be left in the socket; for `Tries`."""
        return together(pause_s(self._resources.producer.acknowledged_s), time.monotonic())

    async def put(self, chunk: Chunk) -> None:
        """Write a chunk of the model's output; for `Tries`."""
        if self.first_s is None:
            self.first_s = time.monotonic() - self._began_at
        if not self._takeover_noted and (not self._earlier_text or chunk.end is True):
            self._takeover_noted = True  # at the end of a continued text: inside it, a part could cut a marker in two
            how = "continued" if self._earlier_text else "called-again"
            await self.writer.put(Chunk(choice=chunk.choice, part=ProviderPart(TAKEOVER_PART, {"how": how})))
        self.usage = chunk.usage or self.usage
        if chunk.finish_reason is not None:
            self.reasons[choice_index(chunk)] = chunk.finish_reason
        if chunk.end is True:
            self._ended.add(choice_index(chunk))
            self._ending = len(self._ended) == self.choices
        await self.writer.put(chunk)


_BY_NAME = {api.name: api for api in APIS}


def _ask_of(api: ApiName, body: Json) -> Ask:
    """Return what a body of this API asks for. Raises `BadAsk`."""
    return _BY_NAME[api].read(body)
