"""Tries to get one answer from the servers of its upstream: at which URLs, how often, and after which pauses.

1. A try that failed before the first token is repeated if that may help, at another URL if there is one. A refusal that
   may be due to one server alone (`failure.ELSEWHERE`) is tried at a URL that was not asked yet.
2. Such a refusal counts as a failure of its server as soon as another server begins to answer the same request: so a
   server that refuses everything is soon left alone, and does not get nearly all requests because it is quick.
   Otherwise it does not count: all servers may refuse a model that none has, or a prompt for its content, and be well
   for other requests. If `tries` is 1 no such refusal counts.
3. Each failed try is logged, with the server and the kind of the failure, but without the server's own words: they may
   quote a prompt or a key.
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
"""Seconds before the second, third and fourth try; the last one also before later tries."""

RETRY_AFTER_S = 30.0
"""Most seconds of a server's `retry-after` that are waited for. The client sees nothing of the wait."""


class Tries:
    """The tries for one answer.

    Args:
        http: the HTTP session for model servers.
        renderer: renders prompts.
        name: name of the answer; with the number of a try, that of the try.
        taker: takes the chunks.
        until: when the answer's time is over, in seconds since the epoch.
        tracing: headers for the requests to servers.
        continued: whether the answer continues text of an earlier caller.
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
        continued: bool = False,
    ) -> None:
        self._http = http
        self._renderer = renderer
        self._name = name
        self._taker = taker
        self._until = until
        self._tracing = {name: value.decode("latin-1") for name, value in tracing}
        self._continued = continued
        self._begun = False
        """Whether anything of the answer has come."""
        self._refused = dict[str, Place]()
        """The places at which servers refused the request by a status in `ELSEWHERE`, by URL."""

    async def generate(self, served: Served, model: str, read: Callable[[], Plan]) -> None:
        """Try until an answer begins, and read it to its end. Raises `UpstreamFailed`.

        `read` returns the plan; each try calls it once it has a place, as a plan takes much memory. `model` is the name
        that the server knows the model by, for the log.
        """
        avoided = set[str]()
        for number in range(1, served.upstream.tries + 1):
            place = await self._place(served, model, avoided)
            avoided.add(place.url)
            try:
                return await self._try_once(served, read, place, number)
            except UpstreamFailed as problem:
                _log_failure(model, problem, place.url)
                alone = all(each.url in avoided for each in served.pool.replicas)
                again = problem.again or (problem.server_status in ELSEWHERE and not alone)
                pause = _pause(problem, number, alone=alone)
                last = self._begun or not again or number == served.upstream.tries
                if last or time.time() + pause > self._until:  # after the pause it would be too late
                    raise
            await asyncio.sleep(pause)
        return None

    @staticmethod
    async def _place(served: Served, model: str, avoided: Collection[str]) -> Place:
        try:
            return await served.pool.take(avoided)
        except UpstreamFailed as problem:
            _log_failure(model, problem)
            raise

    async def _try_once(self, served: Served, read: Callable[[], Plan], place: Place, number: int) -> None:
        """Try at one place, and give it back. Raises `UpstreamFailed`."""
        failed: bool | None = None
        try:
            await self._call(served, read(), place, number)
            failed = False
        except UpstreamFailed as problem:
            failed = _is_server_failure(problem)
            if problem.server_status in ELSEWHERE:
                self._refused[place.url] = place
            raise
        finally:
            served.pool.give_back(place, failed=failed)

    async def _call(self, served: Served, plan: Plan, place: Place, number: int) -> None:
        upstream, kind, url = served.upstream, served.kind, place.url
        headers = {**kind.headers(upstream.api_key), **self._tracing}
        try:
            plan = await prompted(served, plan, self._renderer, self._http, url, headers)
            call = kind.call(msgspec.structs.replace(plan, answer=f"{self._name}-{number}"))
        except BadAsk as problem:
            logged = "the request for the model's server can't be made"  # the reason may quote the client's request
            raise NotAsked(str(problem), "refused", HTTPStatus.BAD_REQUEST, again=False, logged=logged) from problem
        begins, on_begin = "" if self._continued else plan.begins, partial(self._began, served.pool, place)
        watched = Watched(self._taker, served.parsers.saw if kind.raw else _ignored, plan.ask.n)
        generation = Generation(call.codec, plan.ask.n, begins, watched, on_begin=on_begin)
        abort, streamed = kind.abort(call), self._http.streamed(url, call, headers, upstream, lambda: generation.whole)
        del plan, call  # they take several times the request's bytes, and an answer may take minutes
        try:
            async with aclosing(streamed) as pieces:
                await generation.read(pieces)
            watched.over()
        except asyncio.CancelledError:
            if abort is not None:
                await self._http.abort(url, abort, headers, upstream)
            raise

    def _began(self, pool: Pool, place: Place) -> None:
        """Record that the answer has begun at this place, so that earlier refusals by other servers count."""
        self._begun = True
        pool.begins(place)
        self._refused.pop(place.url, None)  # this server had refused it, and answers now
        for other in self._refused.values():
            pool.refused(other)


def _ignored(_sign: Sign) -> None:
    """Ignore a sign: a server of a kind that is not `raw` should parse its text."""


def _is_server_failure(problem: UpstreamFailed) -> bool | None:
    """Whether a failure counts against its server; None if it does not show that, or not yet."""
    if isinstance(problem, NotAsked) or problem.server_status in ELSEWHERE:
        return None
    return problem.server_status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _pause(problem: UpstreamFailed, number: int, *, alone: bool) -> float:
    """Return the seconds until the next try. A server's `retry-after` counts if all other URLs were asked (`alone`)."""
    asked = min(problem.pause_s or 0.0, RETRY_AFTER_S) if alone else 0.0
    return max(asked, PAUSES_S[min(number, len(PAUSES_S)) - 1])


def _log_failure(model: str, problem: UpstreamFailed, url: str = "") -> None:
    """Log a failure. Failures of one kind at one server have the same format string, by which `observe.logs` limits
    them.
    """
    where = f"{model} at {bare(url)}" if url else model
    wording = f"no answer from {where} ({problem.kind})".replace("%", "%%")
    log.warning(wording + ": %s", problem.logged)  # noqa: G003 -- repeats are recognized by the format string


def bare(url: str) -> str:
    """Return a URL without the parts that may contain a key: user, password, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
