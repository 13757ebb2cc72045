"""All pods of a release run exactly as the rendered manifests say, against a real Kafka and a real Redis."""

import asyncio
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec import UNSET

from tests.chart.pods import Container, Secrets
from tests.chart.rendering import Object, hook, of_server, of_tools, one, render, runner, worker
from tests.support.secure_kafka import SecureKafkaServer
from tests.support.stage import Stage, until
from tests.support.tool_calls import Calls
from tests.support.topics import admin_of
from tokenmill.servers.process import free_port

pytestmark = pytest.mark.integration

PARTITIONS = 2
BUSY = 2_000
"""Messages that are there when the worker has to stop."""


@pytest.fixture
def release(secure_kafka: SecureKafkaServer, unique: str) -> list[Object]:
    """A release behind TLS, a login and a secret URL, on a free port, with times that a test can wait for."""
    names = {key: f"{key}-{unique}" for key in ("tokens", "events", "tool_calls", "tool_results", "dlq")}
    return render(
        values={
            "config.kafka.bootstrap_servers": secure_kafka.secure_bootstrap,
            "config.kafka.group_id": f"group-{unique}",
            "config.kafka.security_protocol": "SASL_SSL",
            "config.kafka.sasl_mechanism": "SCRAM-SHA-512",
            "config.topics": names,
            "config.worker.port": free_port(),
            "kafka.login.existingSecret": "kafka-login",
            "kafka.ca.existingSecret": "kafka-ca",
            "redis.existingSecret": "redis-login",
            "topics.partitions": PARTITIONS,
            "topics.replication": 1,
            "worker.replicas": 1,
            "worker.preStopSeconds": 1,
        }
    )


async def test_a_release_makes_its_topics_works_and_drains(
    tmp_path: Path, secure_kafka: SecureKafkaServer, release: list[Object], secrets: Secrets, unique: str
) -> None:
    """The job twice, a worker until it is ready, `helm test`, tokens in, events out, an end within the grace period."""
    job = [Container(hook("Job", release), release, secrets, tmp_path / f"job-{n}") for n in (1, 2)]
    first, again = [await asyncio.to_thread(each.run, 120) for each in job]
    assert (first[0], again[0]) == (0, 0), first[1] + again[1]
    assert ("created" in first[1], "created" in again[1]) == (True, False)

    with ExitStack() as stack:
        pod = Container(worker(release), release, secrets, tmp_path / "worker")
        stack.callback(pod.kill)
        pod.start()
        await until(lambda: pod.passes("startupProbe"), "the process is up", pod.patience("startupProbe"))
        await until(lambda: pod.passes("readinessProbe"), "its partitions are assigned")

        test = Container(hook("Pod", release), release, secrets, tmp_path / "test")
        (address,) = (entry for entry in test.spec["env"] if entry["name"] == "WORKER")
        address["value"] = f"http://127.0.0.1:{address['value'].rpartition(':')[2]}"  # no cluster, no name of a Service
        assert await asyncio.to_thread(test.run, 120) == (0, "The configuration is sound.\n2 partitions\n")

        async with Stage(tmp_path, secure_kafka.bootstrap, unique, "memory://", PARTITIONS) as stage:
            await stage.send("lunch", {"message_id": "m", "seq": 0, "delta": "soup", "end": True})
            await until(stage.at_rest, "everything is committed")
            types = [event["type"] for event in await stage.events()]
            assert types == ["message-start", "text-start", "text-delta", "text-end", "finish"]
            assert pod.passes("livenessProbe")

            await stage.send_all(
                (f"busy-{n}", {"message_id": "m", "seq": 0, "delta": "bread ", "end": True}) for n in range(BUSY)
            )
            assert await asyncio.to_thread(pod.stop) == 0, pod.log.read_text()
            (member,) = await _members(stage)
            assert member.startswith(f"{pod.name}-"), "a static member keeps its place for the pod that comes back"


async def _members(stage: Stage) -> list[str]:
    """Ids of the members of the stage's group; the broker begins that of a static one with its own name."""
    async with admin_of(stage.bootstrap) as admin:
        (described,) = await admin.describe_consumer_groups([stage.group])
        ((_, _, _, _, _, members, *_),) = described.groups
        return [member_id for member_id, *_ in members]


def with_tools(kafka: SecureKafkaServer, calls: Calls) -> list[Object]:
    """A release with runners, and one server that is theirs."""
    port = free_port()
    server = {
        "image": "a stand-in",
        "command": [sys.executable, "-m", "tests.support.mcp_server"],
        "args": [str(port)],
        "port": port,
    }
    objects = render(
        values={
            "config.kafka.bootstrap_servers": kafka.secure_bootstrap,
            "config.kafka.security_protocol": "SASL_SSL",
            "config.kafka.sasl_mechanism": "SCRAM-SHA-512",
            "config.topics": {key: getattr(calls.topics, key) for key in calls.settings["topics"]},
            "config.tools": {"group_id": calls.settings["tools"]["group_id"], "port": free_port()},
            "kafka.login.existingSecret": "kafka-login",
            "kafka.ca.existingSecret": "kafka-ca",
            "tools.enabled": True,
            "tools.servers": {"weather": server},
        }
    )
    service = one("Service", of_server("weather", objects))["metadata"]["name"]
    files = one("ConfigMap", of_tools(objects))["data"]
    files["servers.json"] = files["servers.json"].replace(f"//{service}:", "//127.0.0.1:")  # no name of a Service
    return objects


async def test_runners_call_the_servers_of_the_release_and_drain(
    tmp_path: Path, secure_kafka: SecureKafkaServer, secrets: Secrets, unique: str
) -> None:
    """Both as their manifests say: a call in, a result out, and one that runs is finished at the end."""
    async with Calls(tmp_path, secure_kafka.bootstrap, unique) as calls:
        objects = with_tools(secure_kafka, calls)
        with ExitStack() as stack:
            server = Container(one("Deployment", of_server("weather", objects)), objects, {}, tmp_path / "server")
            pod = Container(runner(objects), objects, secrets, tmp_path / "runner")
            for each in (server, pod):
                stack.callback(each.kill)
                each.start()
            await until(lambda: server.passes("startupProbe"), "the server is up", server.patience("startupProbe"))
            await until(lambda: pod.passes("startupProbe"), "the process is up", pod.patience("startupProbe"))
            await until(lambda: pod.passes("readinessProbe"), "its partitions are taken over")
            await calls.call("first")
            await until(lambda: calls.answered("first"), "the result")
            (result,) = (await calls.results())["first"]
            assert result.error is UNSET, result
            assert calls.effects() == ["begin first", "end first"]
            assert pod.passes("livenessProbe")

            await calls.call("last", seconds=2)
            await until(lambda: "begin last" in calls.effects(), "it runs")
            assert await asyncio.to_thread(pod.stop) == 0, pod.log.read_text()
            (result,) = (await calls.results())["last"]
            assert result.result["structuredContent"] == {"result": "last"}
