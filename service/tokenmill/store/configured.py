"""Stores in the Redis that the settings name."""

from typing import Protocol, TypeVar

from tokenmill.config import Config

T_co = TypeVar("T_co", covariant=True)


class Kind(Protocol[T_co]):
    """A class of stores: `RedisStore` or `RedisSessions`."""

    def __call__(self, url: str, *, group: str, cluster: str, prefix: str, timeout: float, ttl: float) -> T_co:
        """Make a store for one group in the cluster with this id, which is empty if Kafka reports none."""


def configured(kind: Kind[T_co], config: Config, cluster: str) -> T_co | None:
    """A store of this kind; None with `memory://`, where a worker keeps its snapshots to itself."""
    redis = config.redis
    if redis.url.startswith("memory://"):
        return None
    return kind(
        redis.url,
        group=config.kafka.group_id,
        cluster=cluster,
        prefix=redis.key_prefix,
        timeout=redis.timeout_s,
        ttl=redis.ttl_s,
    )
