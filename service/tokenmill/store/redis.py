"""Snapshots in Redis: one hash of fields and one small head for each partition, in the same cluster slot.

    <prefix>:{<cluster>:<group>:<topic>:<partition>}:head           generation, epoch, offset, fields, meta [, writing]
    <prefix>:{<cluster>:<group>:<topic>:<partition>}:<generation>   field -> value

The cluster is Kafka's, as another Kafka may have the same group and topic. A generation's name begins with the topic's
id, so that the fields of a topic that was created again never replace those of the earlier topic. The head names the
current generation; if that has another topic id, it is not a snapshot of the topic (design 4.13).

Each command is a page of limited size, has a short time-out and is tried at most twice. If a write was applied, but its
answer was lost, the next write notices: a delta names exactly the write it builds on (`delta.lua`), and a full write
replaces exactly the head it knows (`switch.lua`).
"""

import logging
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ReadOnlyError, RedisError

from tokenmill.errors import CLOSED, ConfigError, Unavailable
from tokenmill.limits import SNAPSHOT_PAGE_BYTES, SNAPSHOT_PAGE_FIELDS
from tokenmill.store.base import Head, HeadChanged, Place, Snapshot

log = logging.getLogger(__name__)

CONNECTIONS = 8
"""Most connections to the server: after a rebalance several partitions are restored at once; writing needs only one."""

HEALTH_CHECK_S = 15
"""Seconds between health checks: load balancers cut idle connections silently."""

UNFINISHED_TTL_MS = 10 * 60 * 1000
"""Milliseconds after which a generation expires if its writer did not make it the head."""

LOAD_TRIES = 3
"""Tries of a load, which starts again if the head changes meanwhile. It changes every few seconds at most."""

PARAMETER = re.compile(r"(?:argument|value for) ('\w+')", re.IGNORECASE)
"""The name of a URL's parameter in the Redis client's errors."""

_SCRIPTS = files("tokenmill.store")


class RedisStore:
    """A `SnapshotStore` in Redis 6.2 or later, or Valkey. Times are in seconds."""

    def __init__(
        self,
        url: str,
        *,
        group: str,
        cluster: str = "",
        prefix: str = "tokenmill",
        timeout: float = 0.25,
        ttl: float = 86_400,
    ) -> None:
        """`cluster` is Kafka's cluster id, empty if it reports none."""
        self._redis = redis_client(url, timeout)
        self._space = f"{prefix}:{{{cluster}:{group}:"
        self._ttl_ms = int(ttl * 1000)
        self._delta = self._redis.register_script(_SCRIPTS.joinpath("delta.lua").read_text())
        self._switch = self._redis.register_script(_SCRIPTS.joinpath("switch.lua").read_text())

    async def load(self, topic: str, partition: int) -> Snapshot | None:
        """Return the whole snapshot; None if there is no complete one.

        It starts again if the head changes meanwhile.
        """
        for _ in range(LOAD_TRIES):
            async with translated(self._redis):
                head, meta, complete = await self._read_head(topic, partition)
                if head is None or not complete:
                    return None
                fields = await self._read_fields(self._key(topic, partition, head.generation))
                again, _, complete = await self._read_head(topic, partition)
            if again == head and complete:
                return Snapshot(head, meta, fields) if len(fields) == head.fields else None
        return None

    async def head(self, topic: str, partition: int) -> Head | None:
        """As `SnapshotStore.head`."""
        async with translated(self._redis):
            return (await self._read_head(topic, partition))[0]

    async def write_full(
        self, topic: str, partition: int, base: Head | None, place: Place, meta: bytes, fields: Mapping[bytes, bytes]
    ) -> Head:
        """Write a new generation page by page, then make it the head."""
        generation = f"{place.log}-{place.epoch}-{place.offset}-{secrets.token_hex(4)}"
        head = Head(generation, place.epoch, place.offset, len(fields))
        key = self._key(topic, partition, head.generation)
        base_key = self._key(topic, partition, base.generation if base else "none")
        known: list[str | int] = [base.generation, base.epoch, base.offset] if base else ["", "", ""]
        async with translated(self._redis):
            await put_fields(self._redis, key, fields, UNFINISHED_TTL_MS)
            answer = await self._switch(
                keys=[self._key(topic, partition, "head"), key, base_key],
                args=[*known, head.generation, head.epoch, head.offset, head.fields, meta, self._ttl_ms],
            )
            _check(answer)
        return head

    async def write_delta(
        self,
        topic: str,
        partition: int,
        base: Head,
        place: Place,
        meta: bytes,
        changed: Mapping[bytes, bytes],
        removed: Sequence[bytes],
    ) -> Head:
        """Apply changes page by page. Between the first and the last page, readers find no snapshot."""
        keys = [self._key(topic, partition, "head"), self._key(topic, partition, base.generation)]
        known: list[str | int] = [base.generation, base.epoch, base.offset, base.fields]
        token = secrets.token_hex(8)
        parts: list[tuple[Sequence[bytes], list[bytes]]] = [(page, []) for page in _slices(removed)]
        parts += [((), page) for page in pages(changed)]
        parts = parts or [((), [])]
        async with translated(self._redis):
            for number, (gone, page) in enumerate(parts):
                first, last = "first" if number == 0 else "", "last" if number == len(parts) - 1 else ""
                answer = await self._delta(
                    keys=keys,
                    args=[
                        *known,
                        token,
                        first,
                        last,
                        place.epoch,
                        place.offset,
                        meta if last else b"",
                        self._ttl_ms,
                        len(gone),
                        *gone,
                        *page,
                    ],
                )
                _check(answer)
            return Head(base.generation, place.epoch, place.offset, int(answer[1]))

    def keep(self, places: Collection[tuple[str, int]]) -> None:
        """Do nothing: the data is in Redis, where a partition's next owner needs it, and unneeded data expires."""

    async def close(self) -> None:
        """Close all connections."""
        await close(self._redis)

    def _key(self, topic: str, partition: int, name: str) -> str:
        return f"{self._space}{topic}:{partition}}}:{name}"

    async def _read_head(self, topic: str, partition: int) -> tuple[Head | None, bytes, bool]:
        names = ["generation", "epoch", "offset", "fields", "meta", "writing"]
        values = await reply(self._redis.hmget(self._key(topic, partition, "head"), names))
        head = _head(values)
        return head, values[4] or b"", values[5] is None

    async def _read_fields(self, key: str) -> dict[bytes, bytes]:
        fields: dict[bytes, bytes] = {}
        cursor = 0
        while True:
            cursor, page = await reply(self._redis.hscan(key, cursor, count=SNAPSHOT_PAGE_FIELDS))
            fields.update(page)
            if cursor == 0:
                return fields


def redis_client(url: str, timeout: float) -> Redis:
    """Return a client that waits at most `timeout` seconds for a command, and tries it at most twice.

    Raises `ConfigError` for a parameter of the URL that a connection does not take. The error never quotes the URL,
    which may have a password.
    """
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=timeout,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 1),
            health_check_interval=HEALTH_CHECK_S,
            encoding_errors="surrogateescape",  # a head that is not ours may have any bytes as its generation
        )
        pool.make_connection()  # type: ignore[no-untyped-call] # does not connect yet, but checks the parameters
    except (TypeError, ValueError, AttributeError, RedisError) as problem:
        named = PARAMETER.search(str(problem))
        parameter = f"the parameter {named[1]}" if named else "a parameter"
        raise ConfigError([f"redis.url: {parameter} after the ? is unknown or has a wrong value; fix it"]) from None
    return Redis(connection_pool=pool)


async def close(redis: Redis) -> None:
    """Close all connections of a client."""
    await redis.aclose()
    await redis.connection_pool.disconnect()


@asynccontextmanager
async def translated(redis: Redis) -> AsyncIterator[None]:
    """Turn failures of the server and of its connection, and answers that can't be read, into `Unavailable`."""
    try:
        yield
    except ReadOnlyError as problem:
        # A replica answered at the master's address: connect again, as the address may belong to the new master by now.
        await redis.connection_pool.disconnect()
        raise Unavailable(f"redis: {problem}") from problem
    except (RedisError, OSError) as problem:
        raise Unavailable(f"redis: {type(problem).__name__}: {problem}") from problem
    except RuntimeError as problem:
        # The client checks its connection some turns of the loop before it writes; it may be reset in between.
        if CLOSED not in str(problem):
            raise
        raise Unavailable("redis: the connection is gone") from problem
    except (AttributeError, LookupError, TypeError, ValueError) as problem:
        raise Unavailable(f"redis: an answer of another shape, as no Redis gives it: {problem!r}") from problem


async def put_fields(redis: Redis, key: str | bytes, fields: Mapping[bytes, bytes], ttl_ms: int) -> None:
    """Write fields of a hash page by page; it lives that long after each, even if the writer is killed in between."""
    for page in pages(fields):
        async with redis.pipeline() as pipe:
            pipe.hset(key, items=page)
            pipe.pexpire(key, ttl_ms)
            await pipe.execute()


def pages(fields: Mapping[bytes, bytes]) -> Iterator[list[bytes]]:
    """Yield pages of fields and values in turn, each within both caps, unless a single field is larger than a page."""
    page: list[bytes] = []
    size = 0
    for field, value in fields.items():
        length = len(field) + len(value)
        if page and (len(page) == 2 * SNAPSHOT_PAGE_FIELDS or size + length > SNAPSHOT_PAGE_BYTES):
            yield page
            page, size = [], 0
        page += (field, value)
        size += length
    if page:
        yield page


def _slices(removed: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(removed), SNAPSHOT_PAGE_FIELDS):
        yield removed[start : start + SNAPSHOT_PAGE_FIELDS]


def _check(answer: Sequence[Any]) -> None:
    if answer[0] == b"ok":
        return
    if answer[0] == b"torn":
        raise Unavailable("redis: fields of a new generation are missing")
    raise HeadChanged(_head(answer[1:]))


def _head(values: Sequence[bytes | None]) -> Head | None:
    # A Lua table ends at its first nil, so an answer may have fewer values than requested.
    if len(values) < 4 or any(value is None for value in values[:4]):  # noqa: PLR2004 -- the four fields of a head
        return None
    generation, epoch, offset, fields = (value or b"" for value in values[:4])
    try:
        return Head(generation.decode(errors="surrogateescape"), int(epoch), int(offset), int(fields))
    except ValueError as problem:
        log.warning("redis: the head of a snapshot can't be read and is ignored: %s", problem)
        return None


async def reply(call: Awaitable[Any] | Callable[..., Any]) -> Any:
    """Await a call. redis-py's types are those of its synchronous and asynchronous clients; here all calls are
    awaitable.
    """
    return await call  # type: ignore[misc] # see the docstring
