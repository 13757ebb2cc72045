"""What the playground asks for: what there is to choose from, the steps of a text, and whether its cuts matter.

The parser runs here, never in the page. It runs in a thread: a long text takes seconds, in which others are served.
Whoever is known may ask, as what is parsed is what they send; one question is answered at a time, and few may wait.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec
from aiohttp import web

from tokenmill.codecs import CODECS, cut_anywhere
from tokenmill.codecs.sse_stream import SseCodec
from tokenmill.dialects import DIALECTS
from tokenmill.errors import BadOpen, ConfigError, UnknownCodec
from tokenmill.formats import FORMATS
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.authorizer import Authorizer
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.fairness import FairThread
from tokenmill.gateway.http.request_body import decoded, whole_body
from tokenmill.gateway.problems import BAD_REQUEST, Refused
from tokenmill.inspector.cuts import check_cuts
from tokenmill.inspector.diagram import Diagram, diagram
from tokenmill.inspector.page import HEADERS
from tokenmill.inspector.steps import ParseRequest, parse_in_steps
from tokenmill.limits import MIB

BODY_BYTES = 8 * MIB
"""Of what is asked: a captured stream of a long answer, a token a record."""

ASKERS = 8
"""Of a process at once: one is answered, and the body of each other is in memory."""

ASKERS_EACH = 3
"""Of one name: the others have places, too."""

RAW = tuple(SseCodec(codec) for codec in CODECS if not cut_anywhere(codec))
"""The same as raw bytes of a stream, as they are copied out of a terminal or a browser."""

T = TypeVar("T")


class FormatChoice(msgspec.Struct):
    """A format that may be chosen."""

    name: str
    summary: str
    sample: str
    diagram: Diagram


class Choice(msgspec.Struct):
    """A codec or dialect that may be."""

    name: str
    summary: str


class Choices(msgspec.Struct):
    """All of them."""

    formats: list[FormatChoice]
    codecs: list[Choice]
    dialects: list[Choice]
    file: str | None = None
    """Name of a recorded stream."""
    live: bool = False
    """Conversations on Kafka can be followed."""
    words: bool = False
    """Calls that wait can be approved and refused."""


class Recording(msgspec.Struct):
    """A recorded stream."""

    name: str
    records: str


class Playground:
    """The routes of the playground."""

    def __init__(
        self, authorizer: Authorizer, recording: Recording | None = None, *, live: bool = False, words: bool = False
    ) -> None:
        self._admission = Admission(authorizer, ConnectionLimits(ASKERS, ASKERS_EACH))
        self._work = FairThread("other questions take long; ask again, or for less")
        self._recording = recording
        self._live = live
        self._words = live and words

    def routes(self) -> list[web.RouteDef]:
        """The routes for the application."""
        return [
            web.get("/inspect/api/choices", self._choices),
            web.get("/inspect/api/file", self._file),
            web.post("/inspect/api/steps", self._steps),
            web.post("/inspect/api/cuts", self._cuts),
        ]

    async def _choices(self, request: web.Request) -> web.Response:
        await self._admission.who(request)
        formats = [FormatChoice(each.name, each.summary, each.sample, diagram(each)) for each in FORMATS]
        file = self._recording.name if self._recording else None
        codecs, dialects = _all([*CODECS, *RAW]), _all(DIALECTS)
        return _json(Choices(formats, codecs, dialects, file=file, live=self._live, words=self._words))

    async def _file(self, request: web.Request) -> web.Response:
        await self._admission.who(request)
        if self._recording is None:
            raise web.HTTPNotFound
        return _json(self._recording)

    async def _steps(self, request: web.Request) -> web.Response:
        return await self._made(parse_in_steps, request)

    async def _cuts(self, request: web.Request) -> web.Response:
        return await self._made(check_cuts, request)

    async def _made(self, make: Callable[[ParseRequest], T], request: web.Request) -> web.Response:
        """The answer to what is asked. Raises `Refused` with what to change in it."""
        grant = await self._admission.who(request)
        with self._admission.slot(grant):
            asked = decoded(await whole_body(request), ParseRequest, "the body is not what is asked for")
            try:
                answer = await self._work.run(grant.name, lambda: msgspec.json.encode(make(asked)))
            except (BadOpen, ConfigError, UnknownCodec) as problem:
                raise Refused(BAD_REQUEST, str(problem)) from problem
        return _json_bytes(answer)


def _all(named: Iterable[object]) -> list[Choice]:
    return [msgspec.convert(each, Choice, from_attributes=True) for each in named]


def _json(value: object) -> web.Response:
    return _json_bytes(msgspec.json.encode(value))


def _json_bytes(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json", headers=HEADERS)
