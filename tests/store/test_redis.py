"""What a real Redis adds to the contract of `test_base`: keys, expiry, lost fields, interrupted writes, silence."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any

import pytest
import redis
import uvloop

from tests.support.relay_thread import resetting
from tests.support.stage import until
from tokenmill.errors import ConfigError, Unavailable
from tokenmill.limits import SNAPSHOT_PAGE_BYTES, SNAPSHOT_PAGE_FIELDS
from tokenmill.servers import RedisServer
from tokenmill.store import Breaker, GuardedStore, Head, HeadChanged, Place, RedisStore, Snapshot
from tokenmill.store.guarded import LONGEST_PAUSE_S
from tokenmill.store.redis import UNFINISHED_TTL_MS, pages, redis_client, translated
from tokenmill.store.sessions import RedisSessions

pytestmark = pytest.mark.integration

MANY = {b"%d" % number: b"x" for number in range(2 * SNAPSHOT_PAGE_FIELDS)}

REFUSALS = 100
"""One in seven resets meets a command between the client's look at its connection and its writing."""


@pytest.fixture
async def store(redis_server: RedisServer) -> AsyncIterator[RedisStore]:
    """On a server of the test's own."""
    found = RedisStore(redis_server.url, group="group", cluster="kafka", prefix="mill", timeout=0.3, ttl=100)
    yield found
    await found.close()


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    """To look at the keys, and to break them."""
    with redis.Redis(port=redis_server.port) as found:
        yield found


async def test_all_keys_of_a_partition_are_in_one_cluster_slot_and_expire(
    store: RedisStore, client: redis.Redis
) -> None:
    """The hash tag names cluster, group, topic and partition; a replaced generation is gone, and has the topic's id."""
    first = await store.write_full("tokens", 3, None, Place(1, 10, "id"), b"", {b"a": b"1"})
    second = await store.write_full("tokens", 3, first, Place(1, 20, "id"), b"", {b"a": b"2"})
    assert second.generation.startswith("id-1-20-")
    names = sorted(client.keys())
    assert names == sorted(
        [b"mill:{kafka:group:tokens:3}:head", b"mill:{kafka:group:tokens:3}:" + second.generation.encode()]
    )
    assert all(0 < client.pttl(name) <= 100_000 for name in names)
    with pytest.raises(HeadChanged):
        await store.write_full("tokens", 3, first, Place(1, 30, "id"), b"", {b"a": b"3"})
    [unfinished] = set(client.keys()) - set(names)
    assert 100_000 < client.pttl(unfinished) <= UNFINISHED_TTL_MS
    for name in names:
        client.pexpire(name, 1_000)
    await store.write_delta("tokens", 3, second, Place(1, 21, "id"), b"", {b"a": b"3"}, [])
    assert all(client.pttl(name) > 1_000 for name in names)


async def test_a_full_write_whose_fields_are_evicted_before_its_end_is_no_snapshot(
    store: RedisStore, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer hears of it; what was there before stays."""
    head, switch = await store.write_full("tokens", 0, None, Place(1, 10), b"", {b"a": b"1"}), store._switch

    async def late(keys: list[str], args: list[Any]) -> Any:
        client.delete(keys[1])
        return await switch(keys=keys, args=args)

    monkeypatch.setattr(store, "_switch", late)
    with pytest.raises(Unavailable, match="fields of a new generation are missing"):
        await store.write_full("tokens", 0, head, Place(1, 20), b"", {b"a": b"2"})
    snapshot = await store.load("tokens", 0)
    assert snapshot is not None
    assert snapshot.head == head


async def test_a_snapshot_that_lost_fields_is_none(store: RedisStore, client: redis.Redis) -> None:
    """The number of fields is part of the head: what was evicted is noticed."""
    head = await store.write_full("tokens", 0, None, Place(1, 10), b"", MANY)
    client.hdel("mill:{kafka:group:tokens:0}:" + head.generation, b"7")
    assert await store.load("tokens", 0) is None


@pytest.mark.parametrize(("field", "value"), [("epoch", b"x"), ("offset", b"1.5")])
async def test_a_head_that_is_none_of_ours_is_none(
    store: RedisStore, client: redis.Redis, field: str, value: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody else has written there: a restore ignores it, and a writer learns that it is not the head it knows."""
    head = await store.write_full("tokens", 0, None, Place(1, 10), b"", {b"a": b"1"})
    client.hset("mill:{kafka:group:tokens:0}:head", field, value)
    assert (await store.load("tokens", 0), await store.head("tokens", 0)) == (None, None)
    assert "the head of a snapshot can't be read" in caplog.text
    with pytest.raises(HeadChanged) as refused:
        await store.write_full("tokens", 0, head, Place(1, 20), b"", {})
    assert refused.value.head is None
    again = await store.write_full("tokens", 0, None, Place(1, 20), b"", {b"a": b"2"})
    assert await store.load("tokens", 0) == Snapshot(again, b"", {b"a": b"2"})


@pytest.mark.parametrize("field", ["generation", "epoch", "offset", "fields"])
async def test_a_head_that_lost_something_is_replaced(store: RedisStore, client: redis.Redis, field: str) -> None:
    """One full write makes it good, and the next builds on that."""
    await store.write_full("tokens", 0, None, Place(1, 10), b"", {b"a": b"1"})
    client.hdel("mill:{kafka:group:tokens:0}:head", field)
    head = await store.write_full("tokens", 0, await store.head("tokens", 0), Place(1, 20), b"", {b"a": b"2"})
    head = await store.write_delta("tokens", 0, head, Place(1, 30), b"", {b"b": b"3"}, [])
    assert await store.load("tokens", 0) == Snapshot(head, b"", {b"a": b"2", b"b": b"3"})


async def test_a_sound_head_is_not_replaced_by_who_knows_of_none(store: RedisStore) -> None:
    """It learns the current head instead."""
    head = await store.write_full("tokens", 0, None, Place(1, 10), b"", {b"a": b"1"})
    with pytest.raises(HeadChanged) as refused:
        await store.write_full("tokens", 0, None, Place(1, 20), b"", {})
    assert refused.value.head == head


async def test_a_generation_of_any_name_is_replaced(store: RedisStore, client: redis.Redis) -> None:
    """Even if the name is not text."""
    await store.write_full("tokens", 0, None, Place(1, 10), b"", {b"a": b"1"})
    client.hset("mill:{kafka:group:tokens:0}:head", "generation", b"\xff")
    found = await store.head("tokens", 0)
    assert await store.load("tokens", 0) is None
    head = await store.write_full("tokens", 0, found, Place(1, 20), b"", {b"a": b"2"})
    assert await store.load("tokens", 0) == Snapshot(head, b"", {b"a": b"2"})


async def test_what_others_own_stays(store: RedisStore) -> None:
    """The next owner reads it here."""
    head = await store.write_full("tokens", 0, None, Place(1, 10), b"", {})
    store.keep([])
    assert await store.head("tokens", 0) == head


async def test_an_interrupted_delta_is_no_snapshot_until_a_full_write(store: RedisStore, client: redis.Redis) -> None:
    """Between its first and last page readers see nothing; a full write on the old head makes it good."""
    head = await store.write_full("tokens", 0, None, Place(1, 10), b"", {b"a": b"1"})
    client.hset("mill:{kafka:group:tokens:0}:head", "writing", "token of a writer that is no more")
    assert await store.load("tokens", 0) is None
    assert await store.head("tokens", 0) == head
    with pytest.raises(Unavailable):
        await store.write_delta("tokens", 0, head, Place(1, 11), b"", MANY, [])
    await store.write_full("tokens", 0, head, Place(1, 12), b"", MANY)
    snapshot = await store.load("tokens", 0)
    assert snapshot is not None
    assert snapshot.fields == MANY


async def test_a_delta_whose_writer_died_between_two_pages_is_no_snapshot(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the fields are new, half are old, and their number is right: only the head reveals it."""
    head = await store.write_full("tokens", 0, None, Place(1, 10), b"", MANY)
    write = store._delta

    async def write_one_page(**page: Any) -> Any:
        monkeypatch.setattr(store, "_delta", gone)
        return await write(**page)

    async def gone(**_: Any) -> Any:
        raise redis.ConnectionError("the writer is no more")

    monkeypatch.setattr(store, "_delta", write_one_page)
    with pytest.raises(Unavailable):
        await store.write_delta("tokens", 0, head, Place(1, 20), b"", dict.fromkeys(MANY, b"y"), [])
    assert await store.load("tokens", 0) is None


async def test_a_delta_whose_fields_are_evicted_between_two_pages_is_refused(
    store: RedisStore, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what is left would be the snapshot, and whole."""
    head = await store.write_full("tokens", 0, None, Place(1, 10), b"", {b"a": b"1"})
    write, pages = store._delta, list[int]()

    async def evicting(**page: Any) -> Any:
        pages.append(len(pages))
        if len(pages) == 2:  # the keys of a head and of its fields are evicted one by one
            client.delete(f"mill:{{kafka:group:tokens:0}}:{head.generation}")
        return await write(**page)

    monkeypatch.setattr(store, "_delta", evicting)
    with pytest.raises(HeadChanged):
        await store.write_delta("tokens", 0, head, Place(1, 20), b"", MANY, [])
    assert await store.load("tokens", 0) is None


async def test_a_reader_starts_again_when_the_head_changes(store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write between the pages of a read: what is answered is one of the two states, whole."""
    old = await store.write_full("tokens", 0, None, Place(1, 10), b"old", {b"a": b"1"})
    read = store._read_fields

    async def read_while_written(key: str) -> dict[bytes, bytes]:
        fields = await read(key)
        monkeypatch.undo()
        await store.write_full("tokens", 0, old, Place(1, 20), b"new", {b"a": b"2"})
        return fields

    monkeypatch.setattr(store, "_read_fields", read_while_written)
    snapshot = await store.load("tokens", 0)
    assert snapshot is not None
    assert (snapshot.meta, snapshot.fields) == (b"new", {b"a": b"2"})


async def test_a_server_that_is_away_or_silent_is_unavailable_soon(
    store: RedisStore, redis_server: RedisServer
) -> None:
    """In two tries with their time-outs, whatever is wrong."""
    head = await store.write_full("tokens", 0, None, Place(1, 10), b"", {b"a": b"1"})
    redis_server.freeze()
    began = time.monotonic()
    with pytest.raises(Unavailable):
        await store.write_delta("tokens", 0, head, Place(1, 11), b"", {b"b": b"2"}, [])
    assert 2 * 0.3 <= time.monotonic() - began < 10 * 0.3
    redis_server.thaw()
    redis_server.kill()
    with pytest.raises(Unavailable):
        await store.load("tokens", 0)


async def test_a_write_whose_answer_was_lost_does_not_spoil_the_next(
    store: RedisStore, redis_server: RedisServer, client: redis.Redis
) -> None:
    """A frozen server applies it after the thaw: the next delta on the old base is refused, a full one is right."""
    head = await store.write_full("tokens", 0, None, Place(1, 9), b"", {b"a": b"1"})
    head = await store.write_delta("tokens", 0, head, Place(1, 10), b"", {b"a": b"2"}, [])  # the server has the script
    redis_server.freeze()
    with pytest.raises(Unavailable):
        await store.write_delta("tokens", 0, head, Place(1, 11), b"", {b"b": b"2"}, [])
    redis_server.thaw()
    await until(lambda: client.hget("mill:{kafka:group:tokens:0}:head", "offset") == b"11", "it is applied after all")
    with pytest.raises(HeadChanged):
        await store.write_delta("tokens", 0, head, Place(1, 12), b"", {b"c": b"3"}, [])
    await store.write_full("tokens", 0, await store.head("tokens", 0), Place(1, 12), b"", {b"c": b"3"})
    snapshot = await store.load("tokens", 0)
    assert snapshot is not None
    assert snapshot.fields == {b"c": b"3"}


async def test_a_replica_behind_the_name_of_its_master_is_unavailable(store: RedisStore, client: redis.Redis) -> None:
    """It refuses writes; the connections are dropped, because the name may lead elsewhere now."""
    client.replicaof("127.0.0.1", 1)
    with pytest.raises(Unavailable, match="read only"):
        await store.write_full("tokens", 0, None, Place(1, 10), b"", {b"a": b"1"})
    assert not any(each.is_connected for each in store._redis.connection_pool._get_free_connections())
    client.replicaof("NO", "ONE")
    await store.write_full("tokens", 0, None, Place(1, 10), b"", {b"a": b"1"})


def test_pages_keep_both_caps() -> None:
    """Number of fields and bytes; a field that is over alone has a page of its own."""
    fields = MANY | {b"long": b"x" * (SNAPSHOT_PAGE_BYTES + 1), b"last": b"y", b"more": b"z"}
    found = list(pages(fields))
    assert [len(page) // 2 for page in found] == [SNAPSHOT_PAGE_FIELDS, SNAPSHOT_PAGE_FIELDS, 1, 2]
    assert [part for page in found for part in page] == [part for item in fields.items() for part in item]


async def test_clusters_have_keys_of_their_own(store: RedisStore, redis_server: RedisServer) -> None:
    """Though group, topic and partition have the same names in both."""
    other = RedisStore(redis_server.url, group="group", cluster="another", prefix="mill", timeout=0.3, ttl=100)
    await store.write_full("tokens", 0, None, Place(1, 10, "id"), b"", {b"a": b"1"})
    assert await other.head("tokens", 0) is None
    await other.close()


def test_resets_in_whatever_moment_are_unavailable(redis_server: RedisServer) -> None:
    """Under uvloop, which has an error of its own for a lost connection that users of a store would not expect."""

    async def asked(port: int) -> list[str]:
        refusals: list[str] = []
        store = GuardedStore(
            RedisStore(f"redis://127.0.0.1:{port}", group="group", timeout=0.3),
            deadline=5,
            failed=lambda _, problem: refusals.append(str(problem)),
            breaker=Breaker(count(step=2 * LONGEST_PAUSE_S).__next__),  # lets every call through
        )
        async with asyncio.timeout(60):
            while len(refusals) < REFUSALS:
                with suppress(Unavailable):
                    await store.head("tokens", 0)
        await store.close()
        return refusals

    with (
        resetting(redis_server.port) as port,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        refusals = runner.run(asked(port))
    assert all(refusal.startswith("redis: ") for refusal in refusals)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ("ssl=true", "the parameter 'ssl' "),
        ("socket_timeout=abc", "the parameter 'socket_timeout' "),
        ("db=prod", "the parameter 'db' "),
        ("retry=3", "a parameter "),
        ("protocol=5", "a parameter "),
    ],
)
def test_a_parameter_that_no_connection_takes_is_refused(parameters: str, named: str) -> None:
    """At once, by its name, and without the URL: it may hold a password."""
    with pytest.raises(ConfigError, match=f"^redis.url: {named}") as refused:
        redis_client(f"redis://:hunter2@localhost:6379/0?{parameters}", 0.1)
    assert "hunter2" not in str(refused.value)


async def test_only_a_lost_connection_is_unavailable() -> None:
    """The error of uvloop for this is a generic one; any other of its type is a mistake of ours."""
    client = redis_client("redis://127.0.0.1:1", 0.1)
    gone = RuntimeError("unable to perform operation on <TCPTransport closed=True 0x1>; the handler is closed")
    with pytest.raises(Unavailable, match="redis: the connection is gone"):
        async with translated(client):
            raise gone
    with pytest.raises(RuntimeError, match="dictionary changed"):
        async with translated(client):
            raise RuntimeError("dictionary changed size during iteration")


@asynccontextmanager
async def saying(answer: bytes) -> AsyncIterator[str]:
    """Something that speaks the protocol, and answers each command alike; its address."""
    over = list[asyncio.Event]()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        over.append(asyncio.Event())
        closed = over[-1]
        while parts := await reader.readline():
            for _ in range(int(parts[1:])):
                await reader.readexactly(int((await reader.readline())[1:]) + 2)
            writer.write(answer)
        writer.close()
        await writer.wait_closed()
        closed.set()

    async with await asyncio.start_server(served, "127.0.0.1", 0) as server:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}?protocol=2"
        for closed in over:
            await closed.wait()


NONSENSE = {
    "a word": b"+OK\r\n",
    "a number": b":0\r\n",
    "nothing": b"$-1\r\n",
    "an empty list": b"*0\r\n",
    "numbers": b"*6\r\n" + b":1\r\n" * 6,
    "a head": b"*6\r\n" + b"$1\r\n1\r\n" * 4 + b"$-1\r\n" * 2,
    "words of another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


@pytest.mark.parametrize("name", NONSENSE)
async def test_what_no_redis_answers_is_nothing(name: str) -> None:
    """Whatever answers there, it is a cache: a worker that ended for this would end again at each start."""

    async def found(call: Coroutine[Any, Any, object]) -> object:
        with suppress(Unavailable):
            return await call
        return None

    async with saying(NONSENSE[name]) as url:
        store = RedisStore(url, group="group", timeout=1)
        sessions = RedisSessions(url, group="group", prefix="mill", timeout=1, ttl=100)
        head, place = Head("generation", 1, 10, 1), Place(1, 20)
        calls = [
            store.load("tokens", 0),
            store.write_full("tokens", 0, head, place, b"", {b"a": b"1"}),
            store.write_delta("tokens", 0, head, place, b"", {b"a": b"1"}, [b"b"]),
            sessions.load(b"c"),
        ]
        try:
            assert [await found(call) for call in calls] == [None] * len(calls)
        finally:
            await store.close()
            await sessions.close()
