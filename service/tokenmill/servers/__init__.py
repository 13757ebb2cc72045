"""Real servers on this machine for tests, benchmarks and the demo: Apache Kafka from its jars, Redis from a wheel."""

from tokenmill.servers.kafka import KafkaServer
from tokenmill.servers.redis import RedisServer

__all__ = ["KafkaServer", "RedisServer"]
