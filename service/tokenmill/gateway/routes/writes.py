"""Clients' writes: chunks, stops and results of tools. Each is answered when it is in the log, on all replicas.

Rules of this file:

1. A request that has begun to write continues as far as it can when its client goes away, so the fate of its records,
   and of its producer's number, does not depend on when the connection was lost.
2. The key of every record is the conversation of the address, for which the rights were checked.
3. A stop names its message, so that one that comes late does not end the next answer.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeAlias, TypeVar

import msgspec
from aiohttp import web

from tokenmill.codecs import Chunk
from tokenmill.codecs.native import NATIVE as NATIVE_CODEC
from tokenmill.codecs.plain import check_plain
from tokenmill.config import Config
from tokenmill.errors import RecordError
from tokenmill.events import ToolResult
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.auth.grant import Action, Grant
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.http.request_body import BrokenOff, RequestBody, broken_off, decoded, stopping
from tokenmill.gateway.http.request_values import conversation_id, tracing_of
from tokenmill.gateway.ingest.bodies import Stop, StopAccepted, ToolResultBody, Written, message_id_of, stopped_message
from tokenmill.gateway.ingest.chunk_posts import ChunkPost
from tokenmill.gateway.ingest.native_chunks import NATIVE, NativeChunks, read_tm_open
from tokenmill.gateway.ingest.options_compiler import BodyOptions, OptionsCompiler
from tokenmill.gateway.ingest.pipelined_writer import PipelinedWriter, RecordProducer
from tokenmill.gateway.ingest.raw_stream import JSON, Cut, RawStream, how_to_read
from tokenmill.gateway.ingest.sequences import Sequences, claim_of
from tokenmill.gateway.problems import BAD_REQUEST, UNSUPPORTED, Refused
from tokenmill.limits import KIB
from tokenmill.partition import PartitionSettings
from tokenmill.records import Headers
from tokenmill.tasks import Tasks

log = logging.getLogger(__name__)

OpenMessages: TypeAlias = Callable[[str], list[str] | None]
"""Returns the ids of a conversation's open messages, as far as the gateway has read; None: it has not read it."""

T = TypeVar("T")

CONVERSATION = "/v1/conversations/{conversation}"


class WriteRoutes:
    """Writes what clients post: chunks, stops and results of tools.

    Args:
        config: the service's configuration, as the workers have it: chunks are checked with their defaults.
        producer: writes to Kafka; it has been started.
        admission: checks the clients' rights. A body takes a slot of the process as long as it comes. Names are not
            counted, as a service writes all of its answers under one. Bodies of stops have slots of their own, counted
            by name: stopping is possible when nothing else is.
        counts: where writes are counted.
        open_messages: returns the open messages of a conversation. Without it a stop has to name its message.
    """

    def __init__(
        self,
        config: Config,
        producer: RecordProducer,
        admission: Admission,
        counts: Counts,
        open_messages: OpenMessages | None = None,
    ) -> None:
        self._topics = config.topics
        self._compiler = OptionsCompiler(PartitionSettings.from_config(config))
        self._cap = min(config.gateway.body_kib * KIB, config.limits.record_bytes)
        self._idle_s = config.worker.idle_timeout_s
        self._producer = producer
        self._admission = admission
        self._stop_limits = ConnectionLimits(config.gateway.connections, config.gateway.connections_per_principal)
        self._counts = counts
        self._open_messages = open_messages or (lambda _: None)
        self._sequences = Sequences()
        self._tasks = Tasks()
        self._draining = False

    def routes(self) -> list[web.RouteDef]:
        """Return the routes for the application."""
        return [
            web.post(f"{CONVERSATION}/chunks", self.post_chunks),
            web.post(f"{CONVERSATION}/stop", self.post_stop),
            web.delete(f"{CONVERSATION}/messages/{{message}}", self.delete_message),
            web.post(f"{CONVERSATION}/tool-results", self.post_tool_result),
        ]

    def drain(self) -> None:
        """Accept no new bodies of chunks, as they would be cut off; what is being written continues."""
        self._draining = True

    async def settled(self) -> None:
        """Wait for what is being written now, as long as its clients send it."""
        await self._tasks.settled()

    async def close(self, seconds: float) -> None:
        """Wait for what is being written. Call it when no connection is left, and before the producer is stopped."""
        await self._tasks.settled(seconds)
        await self._tasks.close()

    async def post_chunks(self, request: web.Request) -> web.Response:
        """`POST …/chunks`: native chunks, one as JSON or a line each as NDJSON, or with `codec` a provider's stream.

        Query: `codec` of the body; `message_id` for chunks without one; `tm-open`, options as JSON (also as a
        header). Answers 200 with `Accepted`; a repeat, by the headers `Producer-Id`, `-Epoch` and `-Seq`, gets 204.
        """
        return await self._to_the_end(self._chunks(request))

    async def post_stop(self, request: web.Request) -> web.Response:
        """`POST …/stop`, with a `Stop` or nothing: ends a message early. Answers 202 with `StopAccepted`.

        It is 200 if the message had ended. Repeating it does no harm.
        """
        return await self._to_the_end(self._stop_of_body(request))

    async def delete_message(self, request: web.Request) -> web.Response:
        """`DELETE …/messages/{message}`: stops the address's message likewise. Its record in the log stays."""
        return await self._to_the_end(self._stop_of_address(request))

    async def post_tool_result(self, request: web.Request) -> web.Response:
        """`POST …/tool-results`, with a `ToolResultBody`: what a tool answered. Answers 200 with `Written`."""
        return await self._to_the_end(self._tool_result(request))

    # Chunks

    async def _chunks(self, request: web.Request) -> web.Response:
        conversation, grant = await self._admitted(request, "write")
        if self._draining:
            raise stopping("this gateway is shutting down, and takes no new bodies; send it through another one")
        cut, codec = how_to_read(request.content_type, request.query.get("codec"))
        message_id = message_id_of(request.query["message_id"]) if "message_id" in request.query else None
        claim, brought = claim_of(request.headers), BodyOptions(self._compiler, grant.name)
        post = ChunkPost(
            RequestBody(request, self._idle_s, self._admission.held(grant)),
            PipelinedWriter(self._producer, self._topics.tokens, conversation.encode()),
            self._cap,
        )
        about: dict[str, Any] = {"message_id": message_id, "tracing": tracing_of(request.headers)}
        with self._admission.unnamed_slot():
            about["options"] = await self._options(request, brought)
            async with self._sequences.turn(conversation, claim) as turn:
                if turn.repeat:
                    return web.Response(status=204, headers=turn.headers())
                if codec is NATIVE_CODEC:
                    seq = claim.seq_of(message_id) if claim and cut is Cut.WHOLE else None
                    accepted = await post.native(NativeChunks(brought, conversation, **about), cut, seq)
                else:
                    accepted = await post.raw(RawStream(brought, codec, conversation, **about), cut)
                turn.done()
                self._counts.wrote("chunks")
                return _answer(accepted, headers=turn.headers())

    async def _options(self, request: web.Request, brought: BodyOptions) -> dict[str, Any] | None:
        text = request.query.get("tm-open") or request.headers.get("tm-open")
        try:
            return await read_tm_open(text, brought) if text else None
        except RecordError as problem:
            raise Refused(BAD_REQUEST, f"tm-open: {problem}") from problem

    # Stops

    async def _stop_of_body(self, request: web.Request) -> web.Response:
        conversation, grant = await self._admitted(request, "stop")
        with self._stop_limits.taken(grant):
            body = await RequestBody(request, self._idle_s).whole(self._cap)
        return await self._stop(conversation, _read(request, body, Stop) if body.strip() else Stop())

    async def _stop_of_address(self, request: web.Request) -> web.Response:
        conversation, _ = await self._admitted(request, "stop")
        return await self._stop(conversation, Stop(message_id=message_id_of(request.match_info["message"])))

    async def say_stop(self, conversation: str, fields: Mapping[str, Any]) -> Mapping[str, object]:
        """Write a stop that came over a WebSocket, with its rights checked. Raises `Refused`."""
        told, _ = await self._stopped(conversation, _converted(fields, Stop))
        return msgspec.structs.asdict(told)

    async def _stop(self, conversation: str, stop: Stop) -> web.Response:
        told, ended = await self._stopped(conversation, stop)
        return _answer(told, status=200 if ended else 202)

    async def _stopped(self, conversation: str, stop: Stop) -> tuple[StopAccepted, bool]:
        """Write the stop; return what is being stopped, and whether it had ended."""
        known = self._open_messages(conversation)
        message_id = stopped_message(stop, known)
        if message_id is not None or stop.unnamed:
            choice = msgspec.UNSET if stop.choice is None else stop.choice
            chunk = Chunk(conversation_id=conversation, message_id=message_id, choice=choice, control="cancel")
            await self._write(self._topics.tokens, conversation, msgspec.json.encode(chunk), [NATIVE])
            self._counts.wrote("stop")
        return StopAccepted(message_id), not stop.unnamed and known is not None and message_id not in known

    # Results of tools

    async def _tool_result(self, request: web.Request) -> web.Response:
        conversation, _ = await self._admitted(request, "write")
        with self._admission.unnamed_slot():
            body = await RequestBody(request, self._idle_s).whole(self._cap)
        said = _read(request, body, ToolResultBody)
        return _answer(await self._answered(conversation, said, tracing_of(request.headers)))

    async def say_tool_result(self, conversation: str, fields: Mapping[str, Any]) -> Mapping[str, object]:
        """Write a result that came over a WebSocket, with its rights checked. Raises `Refused`."""
        written = await self._answered(conversation, _converted(fields, ToolResultBody), ())
        return msgspec.structs.asdict(written)

    async def _answered(self, conversation: str, body: ToolResultBody, tracing: Headers) -> Written:
        _check_result(body, conversation)
        fields = msgspec.structs.asdict(body) | {"conversation_id": conversation}
        value = msgspec.json.encode(ToolResult(**fields))
        written = await self._write(self._topics.tool_results, conversation, value, tracing)
        self._counts.wrote("tool-results")
        return written

    # Shared

    async def _admitted(self, request: web.Request, action: Action) -> tuple[str, Grant]:
        """Return the conversation of the address, and the grant for the action. Raises `Refused`."""
        conversation = conversation_id(request.match_info["conversation"])
        return conversation, await self._admission.check(request, conversation, action)

    async def _write(self, topic: str, conversation: str, value: bytes, headers: Headers) -> Written:
        writer = PipelinedWriter(self._producer, topic, conversation.encode())
        await writer.put(value, headers)
        await writer.acknowledged()
        assert writer.last is not None  # noqa: S101 -- one record was put, and is acknowledged
        return Written(*writer.last)

    async def _to_the_end(self, work: Coroutine[Any, Any, web.Response]) -> web.Response:
        task = self._tasks.begin(_answering(work), "a write")
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_log_failure)
            raise


async def _answering(work: Coroutine[Any, Any, web.Response]) -> web.Response:
    """Do the work, and answer even a body that broke off: if the server stops, its client can still read the answer."""
    try:
        return await work
    except BrokenOff as lost:
        raise broken_off(lost) from lost


def _log_failure(task: "asyncio.Task[web.Response]") -> None:
    """Log an unexpected failure of a request whose client is gone, which no answer reports."""
    problem = None if task.cancelled() else task.exception()
    if problem is not None and not isinstance(problem, Refused):
        log.error("a write failed after its client had left", exc_info=problem)


def _check_result(body: ToolResultBody, conversation: str) -> None:
    """Raise `Refused` for a result that readers of the topic can't use."""
    if body.conversation_id not in ("", conversation):
        raise Refused(BAD_REQUEST, "conversation_id is not that of the address; leave it out")
    if (body.result is msgspec.UNSET) == (body.error is msgspec.UNSET):
        raise Refused(BAD_REQUEST, "a tool returns either a result or an error; send one of them")
    try:
        check_plain(body.result if body.result is not msgspec.UNSET else None, "result")
    except RecordError as problem:
        raise Refused(BAD_REQUEST, str(problem)) from problem


def _read(request: web.Request, body: bytes, kind: type[T]) -> T:
    """Decode a body as JSON. Raises `Refused`."""
    if request.content_type != JSON:
        raise Refused(UNSUPPORTED, f"send the body as {JSON}")
    return decoded(body, kind, "the body")


def _converted(fields: Mapping[str, Any], kind: type[T]) -> T:
    """Convert the content of a WebSocket message. Raises `Refused`."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as problem:
        raise Refused(BAD_REQUEST, str(problem)) from problem


def _answer(body: msgspec.Struct, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(body), content_type=JSON, headers=headers)
