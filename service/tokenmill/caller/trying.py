"""Tries to have one answer from the servers of its upstream: at which of them, how often, and after which pauses.

1. What failed before the first token is tried again where that may help, at another URL if there is one. What one
   server alone may refuse (`failure.ELSEWHERE`) is asked of one that was not asked yet.
2. Such a refusal is a failure of that server as soon as another one begins to answer the same: so one that refuses all
   is soon left alone, and does not get nearly all requests for being quick. Else it says nothing of the server: all may
   refuse a model that none has, or what a prompt says, and are well for others. Where `tries` is 1 nothing tells.
3. Every try that failed is logged, with the server and the kind of the failure, but without words of the server's: they
   may quote a prompt or a key.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from contextlib import aclosing
from functools import partial
from http import HTTPStatus
from urllib.parse import urlsplit

import msgspec

from tokenmill.apis.ask import BadAsk
from tokenmill.caller.failure import ELSEWHERE, NotAsked, UpstreamFailed
from tokenmill.caller.generation import Generation, Taker
from tokenmill.caller.http import Http
from tokenmill.caller.kinds import Plan
from tokenmill.caller.pool import Place, Pool
from tokenmill.caller.prompting import prompted
from tokenmill.caller.renderer import Renderer
from tokenmill.caller.served import Served
from tokenmill.caller.server_parsers import Watched
from tokenmill.observe.caller_table import Sign
from tokenmill.records import Headers

log = logging.getLogger(__name__)

PAUSES_S = (0.2, 1.0, 3.0)
"""Seconds between tries; after the last of these, that one again."""

RETRY_AFTER_S = 30.0
"""At most, of what a server asks for: as long as others wait for a place. Whoever waits knows nothing of it."""


class Tries:
    """Those for one answer.

    Args:
        http: the way to the servers.
        renderer: of prompts.
        name: of the answer; with a number behind it, that of a try.
        taker: of what comes.
        until: seconds of the epoch at which the answer's time is over.
        tracing: headers of the requests.
        goes_on: the beginning of the answer has come already, of a caller before.
    """

    def __init__(
        self,
        http: Http,
        renderer: Renderer,
        name: str,
        taker: Taker,
        until: float,
        tracing: Headers = (),
        *,
        goes_on: bool = False,
    ) -> None:
        self._http = http
        self._renderer = renderer
        self._name = name
        self._taker = taker
        self._until = until
        self._tracing = {name: value.decode("latin-1") for name, value in tracing}
        self._goes_on = goes_on
        self._begun = False
        """Something has come."""
        self._refused = dict[str, Place]()
        """Where it was refused, by URL."""

    async def generate(self, served: Served, model: str, read: Callable[[], Plan]) -> None:
        """Try until something comes, and go on with that to its end. Raises `UpstreamFailed`.

        `read` reads the request, for each try when it has its place. `model` is the name at the server, for the log.
        """
        avoided = set[str]()
        for number in range(1, served.upstream.tries + 1):
            place = await self._place(served, model, avoided)
            avoided.add(place.url)
            try:
                return await self._tried(served, read, place, number)
            except UpstreamFailed as problem:
                _tell(model, problem, place.url)
                alone = all(each.url in avoided for each in served.pool.replicas)
                again = problem.again or (problem.said in ELSEWHERE and not alone)
                pause = _pause(problem, number, alone=alone)
                last = self._begun or not again or number == served.upstream.tries
                if last or time.time() + pause > self._until:  # better its reason now than none in time
                    raise
            await asyncio.sleep(pause)
        return None

    @staticmethod
    async def _place(served: Served, model: str, avoided: Collection[str]) -> Place:
        try:
            return await served.pool.take(avoided)
        except UpstreamFailed as problem:
            _tell(model, problem)
            raise

    async def _tried(self, served: Served, read: Callable[[], Plan], place: Place, number: int) -> None:
        """Ask one server, and give its place back. Raises `UpstreamFailed`."""
        failed: bool | None = None
        try:
            await self._asked(served, read(), place, number)
            failed = False
        except UpstreamFailed as problem:
            failed = _counts(problem)
            if problem.said in ELSEWHERE:
                self._refused[place.url] = place
            raise
        finally:
            served.pool.give_back(place, failed=failed)

    async def _asked(self, served: Served, plan: Plan, place: Place, number: int) -> None:
        upstream, kind, url = served.upstream, served.kind, place.url
        headers = {**kind.headers(upstream.api_key), **self._tracing}
        try:
            plan = await prompted(served, plan, self._renderer, self._http, url, headers)
            call = kind.call(msgspec.structs.replace(plan, answer=f"{self._name}-{number}"))
        except BadAsk as problem:
            logged = "the request can't be made"  # the reason may quote it
            raise NotAsked(str(problem), "refused", HTTPStatus.BAD_REQUEST, again=False, logged=logged) from problem
        begins, tell = "" if self._goes_on else plan.begins, partial(self._began, served.pool, place)
        watched = Watched(self._taker, served.parsers.saw if kind.raw else _ignored, plan.ask.n)
        generation = Generation(call.codec, plan.ask.n, begins, watched, tell=tell)
        abort, streamed = kind.abort(call), self._http.streamed(url, call, headers, upstream, lambda: generation.whole)
        del plan, call  # they take several times their bytes, and the answer takes its time
        try:
            async with aclosing(streamed) as pieces:
                await generation.read(pieces)
            watched.over()
        except asyncio.CancelledError:
            if abort is not None:
                await self._http.abort(url, abort, headers, upstream)
            raise

    def _began(self, pool: Pool, place: Place) -> None:
        """Something has come from there."""
        self._begun = True
        pool.begins(place)
        self._refused.pop(place.url, None)  # it has changed its mind
        for other in self._refused.values():
            pool.refused(other)


def _ignored(_sign: Sign) -> None:
    """A server that is not asked for raw text may parse it."""


def _counts(problem: UpstreamFailed) -> bool | None:
    """Whether it is a failure of the server; None: it says nothing of the server, or not yet."""
    if isinstance(problem, NotAsked) or problem.said in ELSEWHERE:
        return None
    return problem.said >= HTTPStatus.INTERNAL_SERVER_ERROR


def _pause(problem: UpstreamFailed, number: int, *, alone: bool) -> float:
    """Until the next try. What a server asks for counts where there is no other to ask in its place."""
    asked = min(problem.pause_s or 0.0, RETRY_AFTER_S) if alone else 0.0
    return max(asked, PAUSES_S[min(number, len(PAUSES_S)) - 1])


def _tell(model: str, problem: UpstreamFailed, url: str = "") -> None:
    """Log a failure. Those of one kind at one server have one wording: of many, some are said (see `observe.logs`)."""
    where = f"{model} at {bare(url)}" if url else model
    wording = f"no answer of {where} ({problem.kind})".replace("%", "%%")
    log.warning(wording + ": %s", problem.logged)  # noqa: G003 -- the wording is what repeats are told by


def bare(url: str) -> str:
    """A URL without what may hold a key: no user, no query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
