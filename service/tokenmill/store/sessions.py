"""The records of conversations' sessions in Redis: a copy of a compacted topic.

    <prefix>:{<cluster>:<group>}:sessions                  generation
    <prefix>:{<cluster>:<group>}:session:<conversation>    message/choice -> record [, "" -> generation]

The cluster is Kafka's, as another Kafka may have a group of the same name.

1. A record's field is the name of its answer, so that writing it again changes nothing. There are no totals here:
   readers fold the records.
2. A conversation's hash is complete only if it names the current generation. A reader of the topic writes that name;
   later records keep the hash complete.
3. A generation ends when a record may have been missed: at each takeover of a partition, as its previous owner may have
   died between publishing and writing here, and after each failed write. Then, as after a flush of Redis or the expiry
   of a hash, readers read the topic again.
4. A generation is valid only on the server where it was made. A restarted server, or a replica in its place, may have
   lost the last writes without any notice.
5. All keys expire when nothing is written any longer, the generation, too: a group that is gone leaves nothing here.
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
"""Most records of one `put`: with two commands each, they take about a millisecond of the server's single thread."""


class Named(NamedTuple):
    """A record with its conversation and answer."""

    conversation: bytes
    answer: bytes
    """Message and choice."""
    value: bytes


class SessionStore(Protocol):
    """The interface for writers of sessions. All methods raise `Unavailable` if the store does not answer."""

    async def renew(self) -> None:
        """Begin a new generation, because records may have been missed: no hash counts as complete any longer."""

    async def put(self, records: Iterable[Named]) -> None:
        """Write records, at most `PAGE_RECORDS`."""

    async def close(self) -> None:
        """Close all connections."""


class RedisSessions:
    """A `SessionStore` in Redis, and the reading of sessions. Times are in seconds."""

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
        # One transaction: of a writer that is killed in between, no hash stays without its time to live.
        async with translated(self._redis), self._redis.pipeline() as pipe:
            for record in records:
                key = self._key(record.conversation)
                pipe.hset(key, record.answer, record.value)
                pipe.pexpire(key, self._ttl_ms)
            pipe.pexpire(self._generation_key, self._ttl_ms)
            await pipe.execute()

    async def load(self, conversation: bytes) -> list[bytes] | None:
        """Return the records of a conversation, in any order; None if some may be missing. Raises `Unavailable`."""
        async with translated(self._redis), self._redis.pipeline(transaction=False) as pipe:
            pipe.get(self._generation_key)
            pipe.hgetall(self._key(conversation))
            generation, fields = await pipe.execute()
            mark = await self._mark()  # after the reads: another server may have answered in between
            whole = fields.pop(_WHOLE, b"")
            return list(fields.values()) if whole == generation and whole.endswith(mark) else None

    async def generation(self) -> bytes:
        """Return the current generation, for `restore`. Call it before you read the topic. Raises `Unavailable`."""
        async with translated(self._redis):
            found: bytes | None = await reply(self._redis.get(self._generation_key))
            mark = await self._mark()
            if found is None or not found.endswith(mark):
                await self._begin(mark, only_first=found is None)
                found = await reply(self._redis.get(self._generation_key))
        return found or b""

    async def _begin(self, mark: bytes, *, only_first: bool = False) -> None:
        generation = secrets.token_hex(8).encode() + mark
        await reply(self._redis.set(self._generation_key, generation, px=self._ttl_ms, nx=only_first))

    async def _mark(self) -> bytes:
        """Return the suffix of generations made on this server; `@` if our user may not ask for the server's id."""
        try:
            server = await reply(self._redis.info("server"))
        except NoPermissionError:
            return b"@"
        return f"@{server.get('run_id', '')}".encode()

    async def restore(self, conversation: bytes, records: Mapping[bytes, bytes], generation: bytes) -> None:
        """Write all records of a conversation, by answer, as read from the topic. Raises `Unavailable`.

        The hash then is complete in this generation.
        """
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
