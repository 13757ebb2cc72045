"""Stores made from settings."""

from typing import Any

import msgspec

from tokenmill.config import Config
from tokenmill.store import RedisStore
from tokenmill.store.configured import configured
from tokenmill.store.sessions import RedisSessions


def settings(url: str) -> Config:
    """With nothing as it is by default."""
    return msgspec.convert(
        {
            "kafka": {"group_id": "mill"},
            "redis": {"url": url, "key_prefix": "p", "timeout_s": 0.5, "ttl_s": 100},
        },
        Config,
    )


def test_a_store_gets_all_that_the_settings_say() -> None:
    """The group and its cluster included: two that differ in them share nothing."""

    def made(url: str, **options: Any) -> dict[str, Any]:
        return {"url": url, **options}

    assert configured(made, settings("redis://r:1/2"), "kafka") == {
        "url": "redis://r:1/2",
        "group": "mill",
        "cluster": "kafka",
        "prefix": "p",
        "timeout": 0.5,
        "ttl": 100,
    }


async def test_both_kinds() -> None:
    """Each takes what it gets."""
    config = settings("redis://localhost:1/0")
    snapshots, sessions = configured(RedisStore, config, ""), configured(RedisSessions, config, "")
    assert snapshots is not None
    assert sessions is not None
    await snapshots.close()
    await sessions.close()


def test_there_is_none_in_memory() -> None:
    """A worker's snapshots are its own there."""
    assert configured(RedisStore, settings("memory://"), "kafka") is None
