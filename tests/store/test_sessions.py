"""Sessions in a real Redis: written by name, complete only once a reader of the topic has marked them."""

from collections.abc import AsyncIterator

import pytest
import redis

from tests.support.relay import Relay
from tokenmill.errors import Unavailable
from tokenmill.servers import RedisServer
from tokenmill.store.sessions import Named, RedisSessions

pytestmark = pytest.mark.integration

C = b"conversation \xc3\xa9"


@pytest.fixture
async def store(redis_server: RedisServer) -> AsyncIterator[RedisSessions]:
    """On a server of the test's own."""
    found = RedisSessions(redis_server.url, group="group", cluster="kafka", prefix="mill", timeout=0.3, ttl=100)
    yield found
    await found.close()


async def test_records_are_all_only_after_a_restore(store: RedisSessions) -> None:
    """What a worker wrote may be the last of many; what is written later keeps the hash whole."""
    await store.put([Named(C, b"m1/0", b"one")])
    assert await store.load(C) is None
    await store.restore(C, {b"m0/0": b"zero", b"m1/0": b"one"}, await store.generation())
    assert sorted(await store.load(C) or ()) == [b"one", b"zero"]
    await store.put([Named(C, b"m2/0", b"two"), Named(C, b"m2/0", b"two"), Named(b"other", b"m1/0", b"x")])
    assert sorted(await store.load(C) or ()) == [b"one", b"two", b"zero"]
    assert await store.load(b"other") is None


async def test_a_writer_cut_off_at_any_byte_leaves_nothing_without_an_end(redis_server: RedisServer) -> None:
    """As one that is killed: a hash that has no time to live would stay in Redis for ever."""
    client = redis.Redis(port=redis_server.port)
    async with Relay(redis_server.port) as relay:
        url = f"redis://127.0.0.1:{relay.port}/0"
        for relay.carried in range(100, 2_000, 3):
            store = RedisSessions(url, group="group", cluster="kafka", prefix="mill", timeout=3, ttl=100)
            try:
                await store.put([Named(C, b"m1/0", b"one"), Named(b"other", b"m1/0", b"two")])
                await store.restore(C, {b"m1/0": b"one"}, b"generation")
                break
            except Unavailable:
                assert all(client.pttl(key) > 0 for key in client.scan_iter()), relay.carried
            finally:
                await store.close()
            client.flushall()
    assert relay.carried > 400
    assert client.dbsize() == 2


async def test_an_empty_conversation_can_be_whole(store: RedisSessions) -> None:
    """The topic has nothing of it: that needs not be read again."""
    await store.restore(C, {}, await store.generation())
    assert await store.load(C) == []


async def test_a_new_generation_ends_what_was_whole(store: RedisSessions) -> None:
    """Even for a reader that asked for the generation earlier."""
    before = await store.generation()
    assert await store.generation() == before
    await store.restore(C, {b"m1/0": b"one"}, before)
    await store.renew()
    assert await store.load(C) is None
    await store.restore(C, {b"m1/0": b"one"}, before)
    assert await store.load(C) is None


async def test_a_flushed_redis_has_nothing_whole(store: RedisSessions, redis_server: RedisServer) -> None:
    """Nor has one that was flushed while the topic was read."""
    generation = await store.generation()
    client = redis.Redis(port=redis_server.port)
    client.flushall()
    await store.restore(C, {b"m1/0": b"one"}, generation)
    assert await store.load(C) is None
    await store.generation()
    assert await store.load(C) is None
    client.close()


async def test_a_server_that_was_started_again_has_nothing_whole(
    store: RedisSessions, redis_server: RedisServer
) -> None:
    """It has what it last wrote to its disk; later writes had been acknowledged."""
    await store.restore(C, {b"m1/0": b"one"}, await store.generation())
    client = redis.Redis(port=redis_server.port)
    client.save()
    await store.put([Named(C, b"m2/0", b"two")])
    redis_server.kill()
    redis_server.start()
    assert await store.load(C) is None
    generation = await store.generation()
    await store.restore(C, {b"m1/0": b"one", b"m2/0": b"two"}, generation)
    assert sorted(await store.load(C) or ()) == [b"one", b"two"]
    client.close()


async def test_a_user_who_may_not_ask_for_the_server_has_generations(redis_server: RedisServer) -> None:
    """As `+@all -@dangerous` does not let; then nobody sees that a server was started again."""
    client = redis.Redis(port=redis_server.port)
    client.acl_setuser("mill", enabled=True, passwords=["+p"], categories=["+@all", "-@dangerous"], keys=["*"])
    url = f"redis://mill:p@127.0.0.1:{redis_server.port}/0"
    store = RedisSessions(url, group="group", cluster="kafka", prefix="mill", timeout=0.3, ttl=100)
    await store.restore(C, {b"m1/0": b"one"}, await store.generation())
    assert await store.load(C) == [b"one"]
    await store.renew()
    assert await store.load(C) is None
    await store.close()
    client.close()


async def test_what_is_no_longer_written_expires(store: RedisSessions, redis_server: RedisServer) -> None:
    """A conversation that nobody continues is forgotten here, as the topic has it; so is the generation of a group that
    nobody runs any longer, but not while workers write.
    """
    await store.renew()
    await store.put([Named(C, b"m1/0", b"one")])
    client = redis.Redis(port=redis_server.port)
    hashed, generation = sorted(client.keys("mill:{kafka:group}:session*"), key=len, reverse=True)
    assert 0 < client.pttl(hashed) <= 100_000
    assert 0 < client.pttl(generation) <= 100_000
    client.pexpire(generation, 50_000)
    await store.put([Named(C, b"m2/0", b"two")])
    assert client.pttl(generation) > 50_000
    client.close()


async def test_a_generation_that_expired_ends_what_was_whole(store: RedisSessions, redis_server: RedisServer) -> None:
    """The next reader begins another one."""
    await store.restore(C, {b"m1/0": b"one"}, await store.generation())
    client = redis.Redis(port=redis_server.port)
    client.delete("mill:{kafka:group}:sessions")
    await store.put([Named(C, b"m2/0", b"two")])
    assert await store.load(C) is None
    await store.restore(C, {b"m1/0": b"one", b"m2/0": b"two"}, await store.generation())
    assert sorted(await store.load(C) or ()) == [b"one", b"two"]
    client.close()


async def test_a_silent_server_is_unavailable(store: RedisSessions, redis_server: RedisServer) -> None:
    """Every call fails soon."""
    redis_server.freeze()
    for call in (store.renew(), store.put([Named(C, b"m", b"v")]), store.load(C), store.generation()):
        with pytest.raises(Unavailable):
            await call
    redis_server.thaw()
