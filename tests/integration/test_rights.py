"""The rights that SECURITY.md lists are enough."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.certificates import Identity, make_identity
from tests.support.group_tool import reset_offsets
from tests.support.rights import AUTHORIZER, Right, documented_rights, documented_rights_of, grant
from tests.support.secure_kafka import SecureKafkaServer
from tests.support.stage import Stage, until
from tests.support.tool_calls import Calls
from tests.support.topics import make_topics, read_topic
from tokenmill.config import Config, Kafka, Tools, Topics
from tokenmill.errors import FatalError
from tokenmill.kafka.topics import find_topic
from tokenmill.servers.gateway import GatewayProcess
from tokenmill.servers.process import free_port
from tokenmill.servers.worker import WorkerProcess

pytestmark = pytest.mark.integration

PASSWORD = "open-sesame"

USERS = dict.fromkeys(("mill", "tools", "gateway"), PASSWORD)


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    """The broker's."""
    return make_identity(tmp_path_factory.mktemp("identity"))


@pytest.fixture(scope="module")
def strict_kafka(tmp_path_factory: pytest.TempPathFactory, identity: Identity) -> Iterator[SecureKafkaServer]:
    """A broker that lets users do only what they may."""
    with SecureKafkaServer(tmp_path_factory.mktemp("kafka"), identity.both, USERS, AUTHORIZER) as server:
        yield server


def _log_in(stage: Stage, server: SecureKafkaServer, identity: Identity) -> None:
    """The worker's settings; tests look from outside, without a login."""
    stage.settings["kafka"] |= _login(server, identity, "mill")


def _login(server: SecureKafkaServer, identity: Identity, user: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": server.secure_bootstrap,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_username": user,
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


async def test_a_runner_of_tools_needs_no_more_than_is_documented(
    tmp_path: Path, strict_kafka: SecureKafkaServer, identity: Identity, unique: str
) -> None:
    """A call that is made, one that somebody is asked about, and another runner that learns of it: all that it does."""
    async with Calls(tmp_path, strict_kafka.bootstrap, unique, policy=["ask weather__take"]) as calls:
        config = Config(topics=calls.topics, tools=Tools(group_id=unique))
        grant(strict_kafka.bootstrap, "tools", config, documented_rights_of("runner of tools"))
        calls.settings["kafka"] |= _login(strict_kafka, identity, "tools")
        first, second = calls.runner(), calls.runner()
        await asyncio.to_thread(first.start)
        await calls.call("made")
        await calls.call("asked", "weather__take", params=[1])
        await until(lambda: calls.answered("made"), "its result")
        await until(lambda: read_topic(calls.bootstrap, calls.topics.tool_control), "the question")
        await asyncio.to_thread(first.stop)
        await asyncio.to_thread(second.start)
        await calls.call("later")
        await until(lambda: calls.answered("later"), "who came later goes on")


async def test_a_gateway_needs_no_more_than_is_documented(
    tmp_path: Path, strict_kafka: SecureKafkaServer, identity: Identity, unique: str
) -> None:
    """A chunk and a result that clients write, and what others make of the chunk, read."""
    async with Stage(tmp_path, strict_kafka.bootstrap, unique, "memory://", partitions=1) as stage:
        await make_topics(stage.bootstrap, stage.topics.tool_results, partitions=1)
        grant(strict_kafka.bootstrap, "gateway", Config(topics=stage.topics), documented_rights_of("gateway"))
        await stage.start()
        settings = {"kafka": _login(strict_kafka, identity, "gateway"), "topics": stage.settings["topics"]}
        with GatewayProcess(tmp_path / "gateway", settings) as gateway:
            of_it = f"{gateway.url}/v1/conversations/c"
            async with aiohttp.ClientSession(raise_for_status=True) as http:
                await http.post(f"{of_it}/tool-results", json={"id": "c1", "name": "look", "result": 1})
                await http.post(f"{of_it}/chunks", json={"message_id": "m", "delta": "and so on", "end": True})
                async with http.get(f"{of_it}/events", params={"from": "start", "until": "finish"}) as answer:
                    assert "and so on" in await answer.text()
        assert len(await stage.read(stage.topics.tool_results)) == 1


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


async def test_a_topic_that_a_user_may_not_see_is_not_taken_for_one_that_is_missing(
    strict_kafka: SecureKafkaServer, identity: Identity, unique: str
) -> None:
    """To make it would help nobody, nor would waiting: the process ends at once, and says what the user lacks."""
    topics = Topics(requests=f"requests-{unique}")
    await make_topics(strict_kafka.bootstrap, topics.requests, partitions=1)
    kafka = Kafka(**_login(strict_kafka, identity, "mill"))
    with pytest.raises(FatalError, match=f"this user has no right to the topic {topics.requests}: SECURITY.md"):
        await find_topic(kafka, topics.requests)
    grant(strict_kafka.bootstrap, "mill", Config(topics=topics), [Right("topic", "`requests`", ("Read",))])
    await find_topic(kafka, topics.requests)


def _said(stage: Stage, worker: WorkerProcess) -> bool:
    return any("GroupAuthorizationFailed" in line["message"] for line in stage.logged(worker))
