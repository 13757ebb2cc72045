"""The rights that SECURITY.md lists are enough, and none of them is too much."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.certificates import Identity, make_identity
from tests.support.group_tool import reset_offsets
from tests.support.rights import AUTHORIZER, documented_rights, grant
from tests.support.stage import Stage, until
from tokenmill.config import Config, Kafka
from tokenmill.servers import SecureKafkaServer
from tokenmill.servers.process import free_port
from tokenmill.servers.worker import WorkerProcess

pytestmark = pytest.mark.integration

PASSWORD = "open-sesame"


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    """The broker's."""
    return make_identity(tmp_path_factory.mktemp("identity"))


@pytest.fixture(scope="module")
def strict_kafka(tmp_path_factory: pytest.TempPathFactory, identity: Identity) -> Iterator[SecureKafkaServer]:
    """A broker that lets users do only what they may."""
    with SecureKafkaServer(tmp_path_factory.mktemp("kafka"), identity.both, {"mill": PASSWORD}, AUTHORIZER) as server:
        yield server


def _log_in(stage: Stage, server: SecureKafkaServer, identity: Identity) -> None:
    """The worker's settings; tests look from outside, without a login."""
    stage.settings["kafka"] |= {
        "bootstrap_servers": server.secure_bootstrap,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_username": "mill",
        "sasl_password": PASSWORD,
        "ssl_cafile": str(identity.certificate),
        "startup_timeout_s": 3,
    }


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_a_worker_needs_no_more_than_is_documented(
    tmp_path: Path, strict_kafka: SecureKafkaServer, identity: Identity, unique: str, delivery: str
) -> None:
    """Events, a dead letter, a control record and a commit: all that a worker ever writes, under just these rights."""
    async with Stage(tmp_path, strict_kafka.bootstrap, unique, "memory://", partitions=2) as stage:
        config = Config(kafka=Kafka(group_id=stage.group), topics=stage.topics)
        grant(strict_kafka.bootstrap, "mill", config, documented_rights())
        _log_in(stage, strict_kafka, identity)
        await stage.start(delivery=delivery, idle_timeout_s=1)
        await stage.send("c", {"message_id": "m", "seq": 0, "delta": "and then"}, partition=0)
        await stage.send("c", b"no chunk", partition=0)
        await until(stage.at_rest, "the message is closed by a control record, and that is committed")
        assert await stage.found() == await stage.expected()
        assert len(await stage.read(stage.topics.dlq)) == 1


async def test_without_the_right_to_read_events_a_moved_offset_is_not_known(
    tmp_path: Path, strict_kafka: SecureKafkaServer, identity: Identity, unique: str
) -> None:
    """How far the group had come stands there; the worker says that it can't look, and goes on."""
    async with Stage(tmp_path, strict_kafka.bootstrap, unique, "memory://", partitions=1) as stage:
        config = Config(kafka=Kafka(group_id=stage.group), topics=stage.topics)
        grant(strict_kafka.bootstrap, "mill", config, documented_rights())
        _log_in(stage, strict_kafka, identity)
        worker = await stage.start()
        await stage.send("c", {"message_id": "m", "delta": "one "})
        await until(stage.caught_up, "everything is committed")
        await asyncio.to_thread(worker.stop)
        await reset_offsets(stage.bootstrap, stage.group, stage.topics.tokens, "--to-latest")
        worker = await stage.start()
        await stage.send("c", {"message_id": "m", "delta": "two", "end": True})
        await until(stage.caught_up, "it goes on")
        said = [line["message"] for line in stage.logged(worker)]
        assert f"{stage.topics.events} can't be read: what was published before is not known" in said
        assert 'tokenmill_offsets_moved_total{direction="unknown"} 1.0' in worker.metrics()
        assert await stage.found() == await stage.expected()


async def test_a_right_that_is_missing_is_named(
    tmp_path: Path, strict_kafka: SecureKafkaServer, identity: Identity, unique: str
) -> None:
    """As that to join the group: the log says so, and the worker does not become ready."""
    rights = documented_rights()
    assert [(right.kind, right.which) for right in rights] == [
        ("topic", "input"),
        ("topic", "outputs, dead letters"),
        ("group", "`kafka.group_id`"),
        ("transactional id", "`<prefix>-<group>-` and what follows"),
    ]
    async with Stage(tmp_path, strict_kafka.bootstrap, unique, "memory://", partitions=1) as stage:
        config = Config(kafka=Kafka(group_id=stage.group), topics=stage.topics)
        grant(strict_kafka.bootstrap, "mill", config, [right for right in rights if right.kind == "topic"])
        _log_in(stage, strict_kafka, identity)
        worker = stage.prepare(stall_timeout_s=3)
        worker.port = free_port()  # it is started once, and not again on another
        starting = asyncio.create_task(asyncio.to_thread(worker.start))
        await until(lambda: _said(stage, worker), "it can't join the group, and says so")
        worker.kill()
        await asyncio.gather(starting, return_exceptions=True)


def _said(stage: Stage, worker: WorkerProcess) -> bool:
    return any("GroupAuthorizationFailed" in line["message"] for line in stage.logged(worker))
