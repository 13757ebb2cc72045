"""Sessions of conversations: their records in Redis, a copy of a compacted topic.

    <prefix>:{<cluster>:<group>}:sessions                  generation
    <prefix>:{<cluster>:<group>}:session:<conversation>    message/choice -> record [, "" -> generation]

The cluster is Kafka's, because another cluster may have the same names.

1. A record is written under the name of its answer, so writing it again changes nothing. Nothing is summed up here:
   readers fold the records.
2. A conversation's hash is complete only if it names the current generation. A reader of the topic writes that name;
   records that are written later keep the hash complete.
3. A generation ends when a record may have been missed: at every takeover of a partition, whose previous owner may have
   died between publishing and writing here, and after every failed write. Then, as after a flush of Redis or the expiry
   of a hash, the reader reads the topic again.
4. A generation is valid only on the server where it was made. A restarted server, or a replica in its place, may lack
   the last writes without any notice.
"""

import secrets
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from redis.exceptions import NoPermissionError

from tokenmill.limits import SNAPSHOT_PAGE_FIELDS
from tokenmill.store.redis import close, put_fields, redis_client, reply, translated

_WHOLE = b""
"""Field whose value is the generation in which the hash is complete; no answer has this name."""

PAGE_RECORDS = SNAPSHOT_PAGE_FIELDS // 2
"""Records in one `put`, at most: two commands each, about a millisecond of the server's single thread."""


class Named(NamedTuple):
    """A record with its conversation and answer."""

    conversation: bytes
    answer: bytes
    """Message and choice."""
    value: bytes


class SessionStore(Protocol):
    """The interface for writers of sessions. Every method may raise `Unavailable`."""

    async def renew(self) -> None:
        """Begin a new generation, because records may have been missed: no hash is complete any longer."""

    async def put(self, records: Iterable[Named]) -> None:
        """Write records."""

    async def close(self) -> None:
        """Close all connections."""


class RedisSessions:
    """Sessions in Redis. Times are in seconds."""

    def __init__(self, url: str, *, group: str, cluster: str = "", prefix: str, timeout: float, ttl: float) -> None:
        """`cluster` is Kafka's cluster id, empty if it reports none."""
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
        """The records of a conversation; None if some may be missing."""
        async with translated(self._redis), self._redis.pipeline(transaction=False) as pipe:
            pipe.get(self._generation_key)
            pipe.hgetall(self._key(conversation))
            generation, fields = await pipe.execute()
            mark = await self._mark()  # last: another server may have taken over meanwhile
        whole = fields.pop(_WHOLE, b"")
        return list(fields.values()) if whole == generation and whole.endswith(mark) else None

    async def generation(self) -> bytes:
        """The current generation. To be called before the topic is read for `restore`."""
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
        """Suffix of generations made on this server; the same for all if the user may not ask for the server's id."""
        try:
            server = await reply(self._redis.info("server"))
        except NoPermissionError:
            return b"@"
        return f"@{server.get('run_id', '')}".encode()

    async def restore(self, conversation: bytes, records: Mapping[bytes, bytes], generation: bytes) -> None:
        """Write all records of a conversation, by answer, as read from the topic."""
        fields = {**records, _WHOLE: generation}
        async with translated(self._redis):
            await put_fields(self._redis, self._key(conversation), fields, self._ttl_ms)

    async def close(self) -> None:
        """As `SessionStore.close`."""
        await close(self._redis)

    @property
    def _generation_key(self) -> bytes:
        return self._space + b"s"

    def _key(self, conversation: bytes) -> bytes:
        return self._space + b":" + conversation
