"""Sessions of conversations: their records in Redis, a copy of a compacted topic.

    <prefix>:{<cluster>:<group>}:sessions                  generation
    <prefix>:{<cluster>:<group>}:session:<conversation>    message/choice -> record [, "" -> generation]

The cluster is that of Kafka, whose names another cluster may have, too.

1. A record is written under the name of its answer, so writing it again changes nothing. Nobody adds anything up here:
   who reads folds the records.
2. A conversation's hash is whole only if it says so, with the generation that holds now. Whoever has read the topic
   says it; records that are written later keep it whole.
3. A generation ends when a record may have been missed: at every takeover of a partition, whose owner before may have
   died between publishing and writing here, and after every write that failed. Then, as when Redis was flushed or a
   hash has expired, the reader goes to the topic again.
4. A generation holds at the server that it was made at. One that was started again, or a replica in its place, may lack
   the last writes, and nobody was told.
"""

import secrets
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from redis.exceptions import NoPermissionError

from tokenmill.limits import SNAPSHOT_PAGE_FIELDS
from tokenmill.store.redis import close, pages, redis_client, reply, translated

_WHOLE = b""
"""Field whose value is the generation in which the hash is whole: no answer has this name."""

PAGE_RECORDS = SNAPSHOT_PAGE_FIELDS // 2
"""Records in one `put`, at most: two commands each, about a millisecond of the server's single thread."""


class Named(NamedTuple):
    """A record and where it belongs."""

    conversation: bytes
    answer: bytes
    """Message and choice."""
    value: bytes


class SessionStore(Protocol):
    """What writers of sessions need. Everything may raise `Unavailable`."""

    async def renew(self) -> None:
        """Records may have been missed: what is here is not whole any more."""

    async def put(self, records: Iterable[Named]) -> None:
        """Write records."""

    async def close(self) -> None:
        """Let go of all connections."""


class RedisSessions:
    """Sessions in Redis. Times are in seconds."""

    def __init__(self, url: str, *, group: str, cluster: str = "", prefix: str, timeout: float, ttl: float) -> None:
        """`cluster` is Kafka's id, empty if it tells none."""
        self._redis = redis_client(url, timeout)
        self._space = f"{prefix}:{{{cluster}:{group}}}:session".encode()
        self._ttl_ms = int(ttl * 1000)

    async def renew(self) -> None:
        """As `SessionStore.renew`."""
        async with translated(self._redis):
            await self._begin(await self._mark())

    async def put(self, records: Iterable[Named]) -> None:
        """As `SessionStore.put`."""
        async with translated(self._redis), self._redis.pipeline(transaction=False) as pipe:
            for record in records:
                key = self._key(record.conversation)
                pipe.hset(key, record.answer, record.value)
                pipe.pexpire(key, self._ttl_ms)
            await pipe.execute()

    async def load(self, conversation: bytes) -> list[bytes] | None:
        """The records of a conversation; None if they may not be all."""
        async with translated(self._redis), self._redis.pipeline(transaction=False) as pipe:
            pipe.get(self._generation_key)
            pipe.hgetall(self._key(conversation))
            generation, fields = await pipe.execute()
            mark = await self._mark()  # last: the server may have become another one meanwhile
        whole = fields.pop(_WHOLE, b"")
        return list(fields.values()) if whole == generation and whole.endswith(mark) else None

    async def generation(self) -> bytes:
        """The generation that holds now; to be asked for before the topic is read for `restore`."""
        async with translated(self._redis):
            found: bytes | None = await reply(self._redis.get(self._generation_key))
            mark = await self._mark()
            if found is None or not found.endswith(mark):
                await self._begin(mark, only_first=found is None)
                found = await reply(self._redis.get(self._generation_key))
        return found or b""

    async def _begin(self, mark: bytes, *, only_first: bool = False) -> None:
        await reply(self._redis.set(self._generation_key, secrets.token_hex(8).encode() + mark, nx=only_first))

    async def _mark(self) -> bytes:
        """How generations end that were made at this server; all alike where the user may not ask which one it is."""
        try:
            server = await reply(self._redis.info("server"))
        except NoPermissionError:
            return b"@"
        return f"@{server.get('run_id', '')}".encode()

    async def restore(self, conversation: bytes, records: Mapping[bytes, bytes], generation: bytes) -> None:
        """All records of a conversation, by answer, as the topic has them."""
        key = self._key(conversation)
        async with translated(self._redis):
            for page in pages({**records, _WHOLE: generation}):
                async with self._redis.pipeline(transaction=False) as pipe:
                    pipe.hset(key, items=page)
                    pipe.pexpire(key, self._ttl_ms)
                    await pipe.execute()

    async def close(self) -> None:
        """As `SessionStore.close`."""
        await close(self._redis)

    @property
    def _generation_key(self) -> bytes:
        return self._space + b"s"

    def _key(self, conversation: bytes) -> bytes:
        return self._space + b":" + conversation
