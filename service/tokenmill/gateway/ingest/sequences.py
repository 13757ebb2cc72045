"""Requests that a producer numbers, so that a repeated one is written only once: `Producer-Id`, `-Epoch` and `-Seq`.

Rules of this file, which are those of Durable Streams (section 5.2.1 of its protocol):

1. A producer numbers its requests to one conversation from 0, and begins again from 0 with each epoch, which it raises
   after a restart. Requests of one producer are done one after the other.
2. The next number is written; a number that was done already is answered with 204, and nothing is written; one that
   skips numbers is a gap, 409; an epoch below the last one belongs to a process that was replaced, 403.
3. A number counts as done when all of its request is acknowledged.

All of this is in the memory of one gateway. Another one, or this one after a restart, has no producers, and answers a
number above 0 with 409: the producer begins a new epoch and writes what was not confirmed. So writers of a conversation
should use one gateway (a proxy can choose it by the path), and chunks that must not be doubled over a restart are
numbered in the log itself, by `seq` in native chunks. Where `Producer-Id` is the message's id and the epoch 0, a chunk
without `seq` gets that of its request, see `Claim.seq_of`.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from tokenmill.gateway.problems import BAD_REQUEST, CONFLICT, STALE_PRODUCER, TOO_MANY, Refused

ID, EPOCH, SEQ = "producer-id", "producer-epoch", "producer-seq"
EXPECTED, RECEIVED = "producer-expected-seq", "producer-received-seq"

ID_CHARS = 256
"""Characters of the longest producer's id: message ids, UUIDs and names of pods are far shorter."""

LARGEST = 2**53 - 1
"""The largest number that every language's JSON reader keeps exact."""

REMEMBERED = 10_000
"""Producers that are remembered, each of one conversation: two minutes of the answers of a busy gateway. With ids and
conversations of the usual length they take 5 MB, with the longest 20."""

TURN_S = 10.0
"""Seconds that a request waits for the same producer's request before it: a repeat may come while the first one still
waits for Kafka. After a body that streams there is no point in waiting longer."""


class Claim(NamedTuple):
    """The producer, epoch and number that a request claims."""

    producer: str
    epoch: int
    seq: int

    def seq_of(self, message_id: str | None) -> int | None:
        """Return the `seq` for a request's only chunk, if its producer writes only the chunks of this message.

        Then a repeat does no harm, whatever became of the first one. Other chunks get none: those of a producer of
        several messages would become orphans, and those of a later epoch would pass for repeats of the first chunks.
        """
        return self.seq if self.epoch == 0 and self.producer == message_id else None


def claim_of(headers: Mapping[str, str]) -> Claim | None:
    """Return the claim of a request; None if it makes none. Raises `Refused`."""
    given = [headers.get(name) for name in (ID, EPOCH, SEQ)]
    if given == [None, None, None]:
        return None
    producer, epoch, seq = given
    if producer is None or epoch is None or seq is None:
        raise Refused(
            BAD_REQUEST, "Producer-Id, Producer-Epoch and Producer-Seq are required together; send all or none"
        )
    if not 0 < len(producer) <= ID_CHARS:
        raise Refused(BAD_REQUEST, f"Producer-Id must have 1 to {ID_CHARS} characters")
    return Claim(producer, _number("Producer-Epoch", epoch), _number("Producer-Seq", seq))


def _number(name: str, text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) <= len(str(LARGEST)) and int(text) <= LARGEST:
        return int(text)
    raise Refused(BAD_REQUEST, f"{name} must be a number from 0 to {LARGEST}, in digits")


class _Known:
    """A producer of one conversation."""

    __slots__ = ("epoch", "lock", "seq", "users")

    def __init__(self) -> None:
        self.epoch = 0
        self.seq = -1
        """Number of the last request that was done."""
        self.lock = asyncio.Lock()
        self.users = 0
        """Number of requests that hold the lock or wait for it."""


class Turn:
    """A request whose turn it is."""

    def __init__(self, known: _Known | None, claim: Claim | None) -> None:
        self._known = known
        self._claim = claim
        self.repeat = _judge(known, claim) if known and claim else False
        """Whether it was done before."""

    def done(self) -> None:
        """Note that all of its records are acknowledged."""
        if self._known and self._claim and not self.repeat:
            self._known.epoch, self._known.seq = self._claim.epoch, self._claim.seq

    def headers(self) -> dict[str, str]:
        """Return headers for the answer: how far the producer has come."""
        known = self._known
        return {EPOCH: str(known.epoch), SEQ: str(known.seq)} if known else {}


def _judge(known: _Known, claim: Claim) -> bool:
    """Whether the request is a repeat. Raises `Refused` if it can't come now."""
    if claim.epoch < known.epoch:
        detail = "another process writes with this id now; to take over, begin a higher epoch with Producer-Seq 0"
        raise Refused(STALE_PRODUCER, detail, headers={EPOCH: str(known.epoch)})
    if claim.epoch > known.epoch and known.seq >= 0:
        if claim.seq:
            raise Refused(BAD_REQUEST, "a new epoch must begin with Producer-Seq 0")
        return False
    expected = known.seq + 1
    if claim.seq > expected:
        detail = (
            f"Producer-Seq {expected} comes next; if another gateway took the earlier ones, begin a higher "
            "epoch with Producer-Seq 0"
        )
        raise Refused(CONFLICT, detail, headers={EXPECTED: str(expected), RECEIVED: str(claim.seq)})
    return claim.seq < expected


class Sequences:
    """The producers that this process has seen lately, of all conversations."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._known: OrderedDict[tuple[str, str], _Known] = OrderedDict()

    @asynccontextmanager
    async def turn(self, conversation: str, claim: Claim | None) -> AsyncIterator[Turn]:
        """Wait for a request's turn, and hold it. Raises `Refused` if it can't come, or not in time."""
        if claim is None:
            yield Turn(None, None)
            return
        known = self._enter((conversation, claim.producer))
        try:
            async with _locked(known):
                yield Turn(known, claim)
        finally:
            known.users -= 1
            self._forget()

    def _enter(self, place: tuple[str, str]) -> _Known:
        known = self._known.setdefault(place, _Known())
        self._known.move_to_end(place)
        known.users += 1
        return known

    def _forget(self) -> None:
        """Forget the producers that were silent for longest, unless they are in use."""
        for _ in range(len(self._known) - self._remembered):
            place, known = next(iter(self._known.items()))
            if known.users:
                self._known.move_to_end(place)
            else:
                del self._known[place]


@asynccontextmanager
async def _locked(known: _Known) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(TURN_S):
            await known.lock.acquire()
    except TimeoutError as late:
        detail = "an earlier request of this producer is still running; send the next one after its answer"
        raise Refused(TOO_MANY, detail, headers={"retry-after": "1"}) from late
    try:
        yield
    finally:
        known.lock.release()
