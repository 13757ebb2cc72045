"""The pool of one upstream's URLs: limits the answers at each, queues requests, and leaves failing URLs alone.

1. Of several URLs, the one with the fewest answers is asked; of equals, the one that was asked longest ago. A URL that
   has just failed for the same answer comes last.
2. While all places are taken, up to `queue` requests wait, in order and for `queue_s` each; more are refused at once.
3. A URL that has failed `FAILURES` times in a row is left alone for `BREAK_S`; then a single request probes it,
   whatever answers from before are still running. As soon as the probe's answer begins, all requests may ask the URL
   again, however long that answer takes. Of other answers only the end counts, as one that breaks off has failed, too.
   While all URLs are left alone, no request waits: all are refused.
4. If one URL refused a request, and another one then answered it, that counts as a failure of the first, unless it has
   answered since: as it refuses quickly, it would always have the fewest answers, and be asked first. A refusal alone
   does not count, and none has the last URL left alone: if all refuse the same request, or each refuses what another
   one takes, all would be left alone because of requests that they can't answer, and be missed for those that they can.
5. As many waiting requests are called as there are free places. No timer ends the time for which a URL is left alone:
   the next request that comes checks it, and lets requests in that have waited longer.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection
from http import HTTPStatus

from tokenmill.breaker import Breaker
from tokenmill.caller.failure import UpstreamFailed
from tokenmill.config import Upstream

FAILURES = 5
"""Number of failures in a row after which a URL is left alone: one or two may be chance."""

BREAK_S = 10.0
"""Seconds for which it is left alone. A server that restarts takes longer; one that was overloaded has recovered."""


class Replica(Breaker["Place"]):
    """One URL of an upstream, with its circuit breaker."""

    def __init__(self, url: str) -> None:
        super().__init__(FAILURES, BREAK_S)
        self.url = url
        self.taken = 0
        """Number of answers that are running."""
        self.asked = 0
        """Number of the last request that asked it."""
        self.worked = 0
        """Number of the pool's last request when it last answered: its refusals of earlier requests no longer count."""

    def answers(self, number: int) -> None:
        """Record that it has answered, so that all may ask it. `number` is that of the pool's last request."""
        self.worked = number
        self.works()

    def room(self, now: float, most: int) -> int:
        """Return how many more answers it may run, of `most` at once: one, the probe, if it is `broken`."""
        if self.closed(now):
            return 0
        return 1 if self.broken else most - self.taken


class Place:
    """The place of one answer at a URL."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self.number = replica.asked
        """Number of the answer's request in the pool."""

    @property
    def url(self) -> str:
        """The URL to ask."""
        return self.replica.url


class Pool:
    """The URLs of one upstream, and the requests that wait for a place at one of them."""

    def __init__(self, upstream: Upstream, now: Callable[[], float] = time.monotonic) -> None:
        self._upstream = upstream
        self._now = now
        self.replicas = [Replica(url.rstrip("/")) for url in upstream.urls]
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._called = 0
        """Number of requests that were called from the queue and have not taken their places yet."""
        self._number = 0

    @property
    def running(self) -> int:
        """Number of answers that are running."""
        return sum(replica.taken for replica in self.replicas)

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a place."""
        return len(self._waiting)

    @property
    def closed(self) -> int:
        """Number of URLs that are left alone."""
        now = self._now()
        return sum(replica.closed(now) for replica in self.replicas)

    async def take(self, avoided: Collection[str] = ()) -> Place:
        """Wait for a place, and take it; at an `avoided` URL only if no other has one.

        Raises `UpstreamFailed` if the queue is full, `queue_s` is over, or all URLs are left alone.
        """
        self._call_waiting()
        place = self._take_best(avoided) if self._room and not self._waiting else None
        while place is None:
            self._check_queue()
            await self._wait_for_turn()
            place = self._take_best(avoided)
        return place

    def begins(self, place: Place) -> None:
        """Record that the answer at this place has begun: if it is a probe, all may ask its URL again."""
        if place.replica.probe is place:
            place.replica.answers(self._number)
            self._call_waiting()

    def refused(self, place: Place) -> None:
        """Record that another URL answers the request that this place, given back since, had refused (rule 4)."""
        replica = place.replica
        others = any(not each.broken for each in self.replicas if each is not replica)
        if others and place.number > replica.worked:
            replica.fails(self._now())

    def give_back(self, place: Place, *, failed: bool | None) -> None:
        """Give a place back after its answer. `failed` is whether the server failed; None if that is not known."""
        replica = place.replica
        replica.taken -= 1
        if replica.probe is place:
            replica.probe = None
        if failed:
            replica.fails(self._now())
        elif failed is not None:
            replica.answers(self._number)
        self._call_waiting()

    @property
    def _room(self) -> int:
        """Number of free places, without those that are reserved for requests called from the queue."""
        now, most = self._now(), self._upstream.calls
        return max(0, sum(each.room(now, most) for each in self.replicas) - self._called)

    @property
    def _all_closed(self) -> bool:
        """Whether all URLs are left alone."""
        return self.closed == len(self.replicas)

    def _take_best(self, avoided: Collection[str]) -> Place | None:
        """Take a place at the best URL that has one (rule 1); None if none has."""
        now, most = self._now(), self._upstream.calls
        free = [each for each in self.replicas if each.room(now, most)]
        if not free:
            return None
        best = min(free, key=lambda each: (each.url in avoided, each.taken, each.asked))
        best.taken += 1
        self._number += 1
        best.asked = self._number
        place = Place(best)
        if best.broken:
            best.probe = place
        return place

    def _check_queue(self) -> None:
        """Raise `UpstreamFailed` if a request may not wait: the queue is full, or all URLs are left alone."""
        if self._all_closed:
            detail = "the model's servers have failed and are not asked for some seconds; try again later"
            raise UpstreamFailed(detail, "full", HTTPStatus.SERVICE_UNAVAILABLE, again=False)
        if len(self._waiting) >= self._upstream.queue:
            detail = "the model's servers and the queue for them are full; try again later"
            raise UpstreamFailed(detail, "full", HTTPStatus.TOO_MANY_REQUESTS, again=False)

    async def _wait_for_turn(self) -> None:
        """Wait in the queue until this request is called. Raises `UpstreamFailed` after `queue_s`."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        looks = False
        try:
            async with asyncio.timeout(self._upstream.queue_s):
                await turn
            looks = True
        except TimeoutError:
            detail = f"the model's servers had no free place within {self._upstream.queue_s:g} s; try again later"
            raise UpstreamFailed(detail, "full", HTTPStatus.TOO_MANY_REQUESTS, again=False) from None
        finally:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif not turn.cancelled():
                self._called -= 1
                if not looks:
                    self._call_waiting()  # the next request gets the place

    def _call_waiting(self) -> None:
        """Call as many waiting requests as there are free places; all, to be refused, if all URLs are left alone."""
        while self._waiting and (self._room or self._all_closed):
            turn = self._waiting.popleft()
            if not turn.done():
                self._called += 1
                turn.set_result(None)
