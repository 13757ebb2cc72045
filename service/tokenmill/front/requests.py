"""Finds the earlier request that a request repeats, and writes the records of new ones.

Rules of this file:

1. The log decides. An earlier request is looked for by the key, or by the fingerprint of an SDK's retry, once the log
   has been read to its end. With a key it is looked for again after the own record was written, as another front may
   have written the same request first.
2. A key that was used with another body is refused: it can't mean both.
3. An answer that failed before its content, or was stopped because it had no reader, is asked for again, with the next
   attempt number.
"""

import secrets
import time

import msgspec

from tokenmill.apis import Api, Ask
from tokenmill.apis.namespaces import Namespaces
from tokenmill.apis.record import ATTEMPTS, AnswerId, RequestRecord
from tokenmill.config import Front
from tokenmill.front.failure import NOT_AGAIN
from tokenmill.front.identity import Identity
from tokenmill.front.readers import OtherFronts
from tokenmill.front.request_index import KnownRequest, RequestIndex
from tokenmill.front.request_log import RequestLog
from tokenmill.gateway.auth.grant import Grant
from tokenmill.gateway.ingest.producer import Producer
from tokenmill.gateway.problems import CONFLICT, Refused
from tokenmill.records import Headers

OTHER_BODY = "this Idempotency-Key was used with another body; send a new request with a new key"


class ApiRequest(msgspec.Struct, frozen=True):
    """A client's request that was read and checked."""

    api: Api
    ask: Ask
    body: bytes
    identity: Identity
    grant: Grant
    tracing: Headers = ()


class Requests:
    """Finds requests in the log, and writes new ones to the topic `requests`."""

    def __init__(self, settings: Front, topic: str, log: RequestLog, index: RequestIndex, producer: Producer) -> None:
        self._settings = settings
        self._topic = topic
        self._log = log
        self._index = index
        self._producer = producer
        self._others = OtherFronts(producer, topic)

    async def known(self, asked: ApiRequest) -> KnownRequest | None:
        """Return the earlier request that this one may repeat, or None. Raises `Refused` and `Unavailable`.

        If it is found by its fingerprint, its answer may have been over for too long (`retries`).
        """
        identity = asked.identity
        if identity.key:
            await self._log.caught_up()
            return self._same(asked, self._index.by_key(identity.key))
        if identity.again:
            await self._log.caught_up()
            retry_s, answer_s = self._settings.retry_s, self._settings.answer_s
            ages = retry_s, retry_s + answer_s  # the shorter time first: in the longer one there may be several
            found = (self._index.by_fingerprint(identity.fingerprint, _ago_ms(age)) for age in ages)
            return next((known for known in found if known is not None), None)
        return None

    async def by_id(self, conversation: str, message_id: str) -> KnownRequest | None:
        """Return the request whose answer has this id; None if it is not in the index. Raises `Unavailable`."""
        await self._log.caught_up()
        known = self._index.by_id(message_id)
        return known if known is not None and known.conversation == conversation else None

    async def namespaces(self, conversation: str, answer: AnswerId) -> Namespaces:
        """Return the client's names of the tools that an answer may call; none if its request is forgotten.

        Raises `Unavailable` if the request may be known to other fronts only and `requests` can't be read.
        """
        message_id = str(answer)
        if self._index.by_id(message_id) is None and answer.time_ms > _ago_ms(self._settings.known_s):
            await self._log.caught_up()
        known = self._index.by_id(message_id)
        ours = known is not None and known.conversation == conversation
        return self._index.namespaces(message_id) if ours else {}

    def stopped(self, known: KnownRequest) -> bool:
        """Whether the answer was stopped, by a client or by a front."""
        return self._index.stopped(known.message_id) is not None

    def abandoned(self, known: KnownRequest) -> bool:
        """Whether a front stopped the answer because it had no reader."""
        stopped = self._index.stopped(known.message_id)
        return stopped is not None and stopped.abandoned

    def new(self, asked: ApiRequest, attempt: int) -> KnownRequest:
        """Return a request with a new answer id, which is still to be written."""
        identity, now = asked.identity, int(time.time() * 1000)
        answer = identity.answer_id(asked.api, now, secrets.token_hex(16))
        conversation = answer.conversation_of(asked.grant.name)
        return KnownRequest(
            conversation,
            str(answer),
            asked.api.name,
            identity.fingerprint,
            identity.key,
            attempt,
            identity.stays,
            now,
            asked.ask.model,
        )

    async def write(self, asked: ApiRequest, known: KnownRequest) -> KnownRequest:
        """Write a request to the log. Raises `Refused` and `Unavailable`.

        Return the request that counts: this one, or another front's with the same key that is earlier in the log.
        """
        record = RequestRecord(
            message_id=known.message_id,
            api=known.api,
            body=msgspec.Raw(asked.body),
            fingerprint=known.fingerprint,
            until=known.time_ms + int(self._settings.answer_s * 1000),
            key=known.key,
            attempt=known.attempt,
            stays=known.stays,
            betas=asked.identity.betas,
        )
        key, value = known.conversation.encode(), msgspec.json.encode(record)
        placed = await self._producer.send(self._topic, key, value, asked.tracing)
        if not known.key:
            return known
        await self._log.reached(placed.partition, placed.offset)
        first = self._same(asked, self._index.by_key(known.key, known.attempt))
        return known if first is None or first.message_id == known.message_id else first

    async def attached(self, known: KnownRequest) -> None:
        """Report to all fronts that an answer has a further reader. Raises `Refused`."""
        if not known.stays:
            await self._others.tell(known.conversation, known.message_id)

    def stays(self, message_id: str) -> bool:
        """Whether an answer continues without a reader; one whose request is no longer in the index does."""
        known = self._index.by_id(message_id)
        return known is None or known.stays

    def again(self, known: KnownRequest) -> int:
        """Return the next attempt number, after an attempt that failed or was abandoned. Raises `Refused`."""
        if known.attempt + 1 >= ATTEMPTS:
            detail = f"this request has failed or lost its reader {ATTEMPTS} times; send it with a new Idempotency-Key"
            raise Refused(CONFLICT, detail, headers=dict(NOT_AGAIN))
        return known.attempt + 1

    @staticmethod
    def _same(asked: ApiRequest, known: KnownRequest | None) -> KnownRequest | None:
        if known is not None and known.fingerprint != asked.identity.fingerprint:
            raise Refused(CONFLICT, OTHER_BODY, headers=dict(NOT_AGAIN))
        return known


def _ago_ms(seconds: float) -> int:
    """Return the time this many seconds ago, in milliseconds since the epoch."""
    return int((time.time() - seconds) * 1000)
