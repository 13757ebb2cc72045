"""Places at the URLs of one upstream: how many answers each gives at once, who waits, and which URL is left alone.

1. Of several URLs the one with the fewest answers is asked, of equals the one that was asked longest ago. One that has
   just failed for the same answer comes last.
2. Where all places are taken, requests wait in order, as many as `queue` and for `queue_s`; more are refused at once.
3. A URL that failed `FAILURES` times in a row is left alone for `BREAK_S`; then one request tries it, whatever it still
   answers of before. As soon as that is answered, all may ask again: a long answer holds nobody up. Of other answers
   only the end counts, as what breaks off has failed, too. If all are left alone nobody waits: whoever asks or waits is
   told.
4. What one URL refused and another one then answered is a failure of the first, unless that has answered since: as it
   is quick it would always have the fewest answers, and be asked first. A refusal alone is none, and none closes the
   last URL: where all refuse the same, or each what another one takes, all would be left alone by requests that they
   take.
5. As many of those who wait are called as there are places. Nothing tells that a URL was left alone for long enough:
   whoever asks next looks, and lets those in who asked before.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection

from tokenmill.breaker import Breaker
from tokenmill.caller.failure import TOO_MANY, UNAVAILABLE, UpstreamFailed
from tokenmill.config import Upstream

FAILURES = 5
"""In a row, before a URL is left alone: one or two are bad luck."""

BREAK_S = 10.0
"""For how long: a server that starts again takes longer, one that was overloaded has caught its breath."""


class Replica(Breaker["Place"]):
    """One URL of an upstream, and how it does."""

    def __init__(self, url: str) -> None:
        super().__init__(FAILURES, BREAK_S)
        self.url = url
        self.taken = 0
        """Answers under way."""
        self.asked = 0
        """The number of the request that asked it last."""
        self.worked = 0
        """That of the last request anywhere when it answered: what it refused before says nothing any more."""

    def answers(self, number: int) -> None:
        """It works. Of all requests the last one has this number."""
        self.worked = number
        self.works()

    def room(self, now: float, most: int) -> int:
        """How many more answers it may give, of so many at once; of one that is tried, the try."""
        if self.closed(now):
            return 0
        return 1 if self.broken else most - self.taken


class Place:
    """The place of one answer, at a URL."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self.number = replica.asked

    @property
    def url(self) -> str:
        """The URL to ask."""
        return self.replica.url


class Pool:
    """The URLs of one upstream, and who waits for a place at one."""

    def __init__(self, upstream: Upstream, now: Callable[[], float] = time.monotonic) -> None:
        self._upstream = upstream
        self._now = now
        self.replicas = [Replica(url.rstrip("/")) for url in upstream.urls]
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._called = 0
        """Of those that waited, whose turn it is, and who have not looked yet."""
        self._number = 0

    @property
    def running(self) -> int:
        """How many answers are under way."""
        return sum(replica.taken for replica in self.replicas)

    @property
    def waiting(self) -> int:
        """How many requests wait for a place."""
        return len(self._waiting)

    @property
    def closed(self) -> int:
        """How many URLs are left alone."""
        now = self._now()
        return sum(replica.closed(now) for replica in self.replicas)

    async def take(self, avoided: Collection[str] = ()) -> Place:
        """Wait for a place, and take it. Raises `UpstreamFailed`."""
        self._wake()
        place = self._free(avoided) if self._room and not self._waiting else None
        while place is None:
            self._check()
            await self._turn()
            place = self._free(avoided)
        return place

    def begins(self, place: Place) -> None:
        """Note that something of an answer has come, which goes on."""
        if place.replica.probe is place:
            place.replica.answers(self._number)
            self._wake()

    def refused(self, place: Place) -> None:
        """What was refused there, and given back, another URL answers."""
        replica = place.replica
        others = any(not each.broken for each in self.replicas if each is not replica)
        if others and place.number > replica.worked:
            replica.fails(self._now())

    def give_back(self, place: Place, *, failed: bool | None) -> None:
        """An answer is over, or did not come; None: that says nothing of the server."""
        replica = place.replica
        replica.taken -= 1
        if replica.probe is place:
            replica.probe = None
        if failed:
            replica.fails(self._now())
        elif failed is not None:
            replica.answers(self._number)
        self._wake()

    @property
    def _room(self) -> int:
        """How many places nobody has, and nobody was called for."""
        now, most = self._now(), self._upstream.calls
        return max(0, sum(each.room(now, most) for each in self.replicas) - self._called)

    @property
    def _alone(self) -> bool:
        """Whether all URLs are left alone."""
        return self.closed == len(self.replicas)

    def _free(self, avoided: Collection[str]) -> Place | None:
        """Take the best of the URLs that have a place, if one has."""
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

    def _check(self) -> None:
        """Raise for whoever need not wait."""
        if self._alone:
            detail = "the model's servers do not answer and are left alone for some seconds; try again then"
            raise UpstreamFailed(detail, "full", UNAVAILABLE, again=False)
        if len(self._waiting) >= self._upstream.queue:
            detail = "the model has as many requests as it takes, and as many wait; try again later"
            raise UpstreamFailed(detail, "full", TOO_MANY, again=False)

    async def _turn(self) -> None:
        """Wait until a place is given back."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        looks = False
        try:
            async with asyncio.timeout(self._upstream.queue_s):
                await turn
            looks = True
        except TimeoutError:
            detail = f"the model had no place within {self._upstream.queue_s:g} s; try again later"
            raise UpstreamFailed(detail, "full", TOO_MANY, again=False) from None
        finally:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif not turn.cancelled():
                self._called -= 1
                if not looks:
                    self._wake()  # the place is the next one's

    def _wake(self) -> None:
        """Call as many of those who wait as there are places, or all of them where nobody need wait."""
        while self._waiting and (self._room or self._alone):
            turn = self._waiting.popleft()
            if not turn.done():
                self._called += 1
                turn.set_result(None)
