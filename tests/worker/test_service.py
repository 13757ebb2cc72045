"""The worker as a service: patient at the start, loud when it can't continue, orderly at the end."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from tests.support.rig import Recorder, configuration
from tests.support.stage import Stage, until
from tests.support.topics import alter_topic
from tokenmill.config import Config, Redis
from tokenmill.errors import FatalError
from tokenmill.observe import Numbers, exposition
from tokenmill.servers.process import free_port
from tokenmill.worker.service import WorkerService
from tokenmill.worker.topic_checks import RETENTION

pytestmark = pytest.mark.integration


class Scene:
    """A service that runs without a host."""

    def __init__(self, config: Config) -> None:
        self.hooks = Recorder()
        self.numbers = Numbers()
        self.failing = 0
        self.service = WorkerService(config, self.numbers, self.hooks, failing=self._fail)

    def _fail(self) -> None:
        self.failing += 1


@pytest.fixture
async def scene(stage: Stage) -> AsyncIterator[Scene]:
    """Started, not necessarily ready."""
    found = Scene(configuration(stage, commit_interval_ms=20))
    await found.service.start()
    yield found
    await found.service.stop()


async def test_a_service_becomes_ready_works_and_drains(stage: Stage, scene: Scene) -> None:
    """Starting, ready with its partitions, draining; what it read is published and committed."""
    assert scene.service.readiness()[0] is False
    await until(lambda: scene.service.readiness() == (True, "2 partitions"), "ready")
    await stage.send_all(("c", {"message_id": "m", "seq": seq, "delta": "x"}) for seq in range(50))
    await until(stage.caught_up, "everything is committed")
    assert scene.numbers.value("tokenmill_open_messages") == 1
    await scene.service.stop()
    assert scene.service.readiness() == (False, "draining")
    assert scene.service.failure is None
    assert await stage.found() == await stage.expected()


def test_a_worker_that_waits_for_kafka_says_that_it_has_no_partition() -> None:
    """Without that number, the alert that compares it with the partitions of the last hours has nothing to compare."""
    assert b"\ntokenmill_assigned_partitions 0.0\n" in exposition(Scene(Config()).numbers)()


async def test_a_start_warns_of_an_input_that_keeps_too_little(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """It is ready all the same: nothing is lost yet."""
    config = configuration(stage)
    topic = config.topics.tokens
    await alter_topic(stage.bootstrap, topic, {RETENTION: "3600000"})
    scene = Scene(config)
    await scene.service.start()
    await until(lambda: scene.service.readiness()[0], "ready")
    await scene.service.stop()
    assert caplog.text.count(f"topic {topic}: its retention.ms is 3600000, less than worker.max_age_s") == 1


async def test_a_start_returns_at_once_and_gives_up_in_time(stage: Stage) -> None:
    """The web endpoints must answer while it waits for Kafka; in the end it fails."""
    config = configuration(stage)
    kafka = msgspec.structs.replace(config.kafka, bootstrap_servers=f"127.0.0.1:{free_port()}", startup_timeout_s=1)
    scene = Scene(msgspec.structs.replace(config, kafka=kafka))
    await scene.service.start()
    assert (scene.service.readiness(), scene.service.failure) == ((False, "starting"), None)
    await until(lambda: scene.service.failure, "it gives up")
    assert scene.failing == 1
    assert "can't be reached" in str(scene.service.failure)
    await scene.service.stop()


async def test_a_failure_is_told_once_and_nothing_is_drained(scene: Scene) -> None:
    """The first reason counts; what is uncommitted is published again by the next owner."""
    await until(lambda: scene.service.readiness()[0], "ready")
    engine = scene.service._engine
    assert engine is not None
    engine.delivery.parts.fail(FatalError("first"))
    engine.delivery.parts.fail(FatalError("second"))
    assert str(scene.service.failure) == "first"
    assert scene.failing == 1
    await scene.service.stop()
    assert engine.lanes != {}


async def test_the_store_is_what_the_configuration_names(stage: Stage) -> None:
    """In memory for a machine without Redis; a Redis that is away is counted, not waited for."""
    config = configuration(stage)
    assert await Scene(config).service._store("cluster").head("tokens", 0) is None
    scene = Scene(msgspec.structs.replace(config, redis=Redis(url=f"redis://127.0.0.1:{free_port()}/0")))
    store = scene.service._store("cluster")
    with pytest.raises(Exception, match="snapshot store: head"):
        await store.head("tokens", 0)
    assert scene.numbers.value("tokenmill_redis_errors_total", "head") == 1
    await store.close()
