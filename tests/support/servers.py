"""Which Kafka and which Redis the tests use: one that is given, else a container, else one started here.

Nothing is skipped where none can be had: the tests that need it fail with a sentence that says what to install.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tokenmill.servers import KafkaServer, RedisServer
from tokenmill.servers.kafka import SETTINGS

KAFKA_IMAGE = "confluentinc/cp-kafka:7.9.1"
REDIS_IMAGE = "redis:7.4-alpine"

DOCKER_ANSWERS_S = 10


@cache
def docker_answers() -> bool:
    """Whether a Docker daemon runs that this user may talk to."""
    try:
        run = subprocess.run(["docker", "version"], capture_output=True, timeout=DOCKER_ANSWERS_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0


@contextmanager
def any_kafka(folder: Path) -> Iterator[str]:
    """Bootstrap servers of a broker for a whole test run."""
    if given := os.environ.get("TOKENMILL_TEST_BOOTSTRAP"):
        yield given
    elif docker_answers():
        with _kafka_container() as bootstrap:
            yield bootstrap
    else:
        with KafkaServer(folder) as server:
            yield server.bootstrap


@contextmanager
def any_redis(folder: Path) -> Iterator[str]:
    """URL of a Redis for a whole test run."""
    if given := os.environ.get("TOKENMILL_TEST_REDIS"):
        yield given
    elif docker_answers():
        with _redis_container() as url:
            yield url
    else:
        with RedisServer(folder) as server:
            yield server.url


@contextmanager
def _kafka_container() -> Iterator[str]:
    from testcontainers.community.kafka import KafkaContainer  # noqa: PLC0415 # slow to import and seldom needed

    container = KafkaContainer(KAFKA_IMAGE).with_kraft()
    for key, value in SETTINGS.items():
        if not key.startswith(("process.", "node.", "controller.")):
            container.with_env("KAFKA_" + key.upper().replace(".", "_"), value)
    with container:
        yield container.get_bootstrap_server()


@contextmanager
def _redis_container() -> Iterator[str]:
    from testcontainers.community.redis import RedisContainer  # noqa: PLC0415 # slow to import and seldom needed

    with RedisContainer(REDIS_IMAGE) as container:
        yield f"redis://{container.get_container_host_ip()}:{container.get_exposed_port(6379)}/0"
