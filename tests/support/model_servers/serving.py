"""What the model servers of tests share: they listen, count generations, send tokens in time, and fail as told."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NoReturn, Self

import msgspec
from aiohttp import web

from tests.support.model_servers.speech import Piece, Rules, Script, Speech, speech
from tests.support.model_servers.wire import Body, Wire

Answer = Callable[[Body], Script | Sequence[Script]]
"""What comes of a request: a script for all choices, or one for each."""
Watch = Callable[["Generation", Literal["begin", "end"]], None]


class Refuse(Exception):
    """The request gets a status, and the body that the server has for it or another one."""

    def __init__(
        self, status: int, body: Any = None, *, message: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
        self.message = message
        self.headers = dict(headers or {})


class Generation:
    """One call that a server took on."""

    def __init__(self, number: int, path: str, body: Body, headers: Mapping[str, str]) -> None:
        self.number = number
        self.path = path
        self.body = body
        self.headers = headers
        self.tools_shown: list[str] = []
        """Names of the tools that the server put into the prompt."""
        self.began_at = time.monotonic()
        self.ended_at: float | None = None
        self.tokens_sent = 0
        self.closed_early = False
        """The client closed the connection before all was said."""
        self.dropped = False
        """The server did."""
        self.stopped = asyncio.Event()
        """Set when a client asks the server to stop it."""
        self._over = asyncio.Event()

    def end(self) -> None:
        """Nothing more is said."""
        self.ended_at = time.monotonic()
        self._over.set()

    async def over(self, timeout_s: float = 10) -> float:
        """When nothing more was said."""
        await asyncio.wait_for(self._over.wait(), timeout_s)
        return self.ended_at or 0.0


class FakeModelServer(ABC):
    """A model server in the test's process. What it generates is what `answer` says for the body of the request."""

    software: ClassVar[str] = "uvicorn"
    """Its header `Server`."""
    json_type: ClassVar[str] = "application/json"
    json_only: ClassVar[bool] = True
    """Whether another type of content is refused."""
    headers_first: ClassVar[bool] = False
    """Whether the status is sent before there is a token."""

    def __init__(
        self,
        answer: Answer,
        *,
        model: str = "test-model",
        special: Sequence[str] = (),
        api_key: str | None = None,
        port: int = 0,
        watch: Watch | None = None,
    ) -> None:
        self.model = model
        self.special = tuple(special)
        self.generations = list[Generation]()
        """Each call that was taken on, with whatever end."""
        self.refusals = list[tuple[str, int]]()
        """Path and status of each that was not."""
        self._answer = answer
        self._api_key = api_key
        self._port = port
        self._watch = watch
        self._closing = False
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Where it listens, without any path."""
        assert self._runner is not None
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    @property
    def running(self) -> list[Generation]:
        """Those that are not over."""
        return [generation for generation in self.generations if generation.ended_at is None]

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._guard], client_max_size=64 * 1024 * 1024)
        app.add_routes(self.routes())
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        assert self._runner is not None
        await self._runner.cleanup()

    @abstractmethod
    def routes(self) -> Iterable[web.RouteDef]:
        """What it serves."""

    @abstractmethod
    def error_body(self, status: int, message: str) -> Any:
        """How it tells an error before the first token."""

    def unauthorized(self) -> Any:
        """How it tells that the key is wrong."""
        return self.error_body(401, "Unauthorized")

    async def read(self, request: web.Request) -> Body:
        """The body, if it is one."""
        if self.json_only and request.content_type != "application/json":
            raise Refuse(400, message="Unsupported Media Type: Only 'application/json' is allowed")
        try:
            body = msgspec.json.decode(await request.read())
        except msgspec.DecodeError as error:
            raise Refuse(400, message=str(error)) from error
        if not isinstance(body, dict):
            raise Refuse(400, message="the body is not an object")
        return body

    async def generate(
        self, request: web.Request, body: Body, wire: Wire, rules: Rules, *, stream: bool, tools: Sequence[str] = ()
    ) -> web.StreamResponse:
        """Say what the script says."""
        scripts = self._scripts(body)
        said = [speech(script, rules) for script in scripts]
        generation = self._begin(request, body, tools)
        say = self._stream if stream else self._whole
        try:
            return await say(request, generation, wire, scripts[0], said)
        except (asyncio.CancelledError, ConnectionError):
            generation.closed_early = not (self._closing or generation.dropped)
            raise
        finally:
            generation.end()
            self._tell(generation, "end")

    def _scripts(self, body: Body) -> list[Script]:
        answered = self._answer(body)
        scripts = [answered] * int(body.get("n") or 1) if isinstance(answered, Script) else list(answered)
        if scripts[0].fail == "refuse":
            self._refuse(scripts[0])
        return scripts

    def _refuse(self, script: Script) -> NoReturn:
        wait = {"Retry-After": str(script.retry_after)} if script.retry_after is not None else {}
        raise Refuse(script.status, message="refused by its script", headers=wait)

    def _begin(self, request: web.Request, body: Body, tools: Sequence[str]) -> Generation:
        generation = Generation(len(self.generations) + 1, request.path, body, dict(request.headers))
        generation.tools_shown = list(tools)
        self.generations.append(generation)
        self._tell(generation, "begin")
        return generation

    def _tell(self, generation: Generation, what: Literal["begin", "end"]) -> None:
        if self._watch is not None:
            self._watch(generation, what)

    async def _stream(
        self, request: web.Request, generation: Generation, wire: Wire, script: Script, said: list[Speech]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": wire.content_type, "Server": self.software})
        if self.headers_first:
            await response.prepare(request)
        await asyncio.sleep(script.first_s)
        if script.fail == "error" and not script.after and not self.headers_first:
            raise Refuse(500, message="Internal server error")
        await response.prepare(request)
        await self._say(generation, response, wire, script, said)
        if script.fail == "hang":
            await generation.stopped.wait()
        if generation.stopped.is_set():
            await _write(response, wire.end([Speech(one.pieces, "abort") for one in said]))
        elif script.fail:
            await self._fail(script, request, generation, response, wire)
        else:
            wire.counts = script.usage
            await _write(response, wire.end(said))
        return response

    async def _say(
        self, generation: Generation, response: web.StreamResponse, wire: Wire, script: Script, said: list[Speech]
    ) -> None:
        ends = script.fail if script.after or script.fail != "no-finish" else ""
        await _write(response, wire.begin(len(said)))
        for index, piece, last in _interleaved(said):
            if generation.stopped.is_set() or (ends and generation.tokens_sent == script.after):
                break
            await asyncio.sleep(script.pause_s)
            tail = piece if last and wire.joins_last and said[index].finish == "length" else None
            await _write(response, wire.piece(index, piece) if piece is not None and tail is None else b"")
            generation.tokens_sent += piece is not None
            if last and not script.fail:
                await _write(response, wire.finish(index, said[index], tail))

    async def _fail(
        self, script: Script, request: web.Request, generation: Generation, response: web.StreamResponse, wire: Wire
    ) -> None:
        if script.fail == "drop":
            self._drop(request, generation)
        elif script.fail in ("error", "junk"):
            await response.write(wire.error() if script.fail == "error" else wire.junk)

    async def _whole(
        self, request: web.Request, generation: Generation, wire: Wire, script: Script, said: list[Speech]
    ) -> web.StreamResponse:
        tokens = sum(len(speech_.pieces) for speech_ in said)
        await asyncio.sleep(script.first_s + script.pause_s * tokens)
        if script.fail == "error":
            raise Refuse(500, message="Internal server error")
        if script.fail == "hang":
            await generation.stopped.wait()
        if script.fail == "drop":
            self._drop(request, generation)
        generation.tokens_sent = 0 if script.fail else tokens
        return self._json(wire.junk if script.fail in ("junk", "no-finish") else wire.whole(said))

    def _drop(self, request: web.Request, generation: Generation) -> None:
        generation.dropped = True
        if request.transport is not None:
            request.transport.close()

    def _json(self, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
        body = value if isinstance(value, bytes) else msgspec.json.encode(value)
        kinds = {"Content-Type": self.json_type, "Server": self.software}
        return web.Response(body=body, status=status, headers={**kinds, **(headers or {})})

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            self._let_in(request)
            return await handler(request)
        except Refuse as refusal:
            status, headers, message = refusal.status, refusal.headers, refusal.message
            body = self.error_body(status, message) if refusal.body is None else refusal.body
        except web.HTTPException as error:
            status, headers, body = error.status, dict[str, str](), self.error_body(error.status, error.reason)
        self.refusals.append((request.path, status))
        return self._json(body, status, headers)

    def _let_in(self, request: web.Request) -> None:
        key = request.headers.get("X-Api-Key") or request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self._api_key is not None and key != self._api_key:
            raise Refuse(401, self.unauthorized())

    async def answer_json(self, value: Any) -> web.Response:
        """What is no generation."""
        return self._json(value)


async def _write(response: web.StreamResponse, frames: bytes) -> None:
    if frames:
        await response.write(frames)


def _interleaved(said: Sequence[Speech]) -> Iterator[tuple[int, Piece | None, bool]]:
    """Token by token, choice by choice, with whether it is the choice's last; a choice without any has an end, too."""
    for position in range(max(len(speech_.pieces) for speech_ in said) or 1):
        for index, speech_ in enumerate(said):
            if position < len(speech_.pieces):
                yield index, speech_.pieces[position], position == len(speech_.pieces) - 1
            elif position == 0:
                yield index, None, True
