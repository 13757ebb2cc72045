"""Makes stores in the Redis of the configuration."""

from typing import Protocol, TypeVar

from tokenmill.config import Config

T_co = TypeVar("T_co", covariant=True)


class Kind(Protocol[T_co]):
    """A class of stores: `RedisStore` or `RedisSessions`."""

    def __call__(self, url: str, *, group: str, cluster: str, prefix: str, timeout: float, ttl: float) -> T_co:
        """Return a store for one group. `cluster` is Kafka's cluster id, empty if it reports none; times are in
        seconds.
        """


def configured(kind: Kind[T_co], config: Config, cluster: str) -> T_co | None:
    """Return a store of this kind; None for `memory://`, as each worker then has its snapshots in its own memory."""
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
