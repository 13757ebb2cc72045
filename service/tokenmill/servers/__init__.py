"""Real servers on this machine for tests, benchmarks and the demo: Apache Kafka from its jars, Redis from a wheel."""

from tokenmill.servers.kafka import KafkaServer
from tokenmill.servers.kafka_cluster import KafkaCluster
from tokenmill.servers.redis import RedisServer
from tokenmill.servers.secure_kafka import SecureKafkaServer

__all__ = ["KafkaCluster", "KafkaServer", "RedisServer", "SecureKafkaServer"]
