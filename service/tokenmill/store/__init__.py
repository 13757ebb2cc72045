"""Stores of snapshots: a cache beside the log, which alone is the truth."""

from tokenmill.store.base import Head, HeadChanged, Place, Snapshot, SnapshotStore
from tokenmill.store.guarded import Breaker, GuardedStore
from tokenmill.store.memory import MemoryStore
from tokenmill.store.redis import RedisStore

__all__ = [
    "Breaker",
    "GuardedStore",
    "Head",
    "HeadChanged",
    "MemoryStore",
    "Place",
    "RedisStore",
    "Snapshot",
    "SnapshotStore",
]
