"""A front and its callers run exactly as the rendered manifests say, in one pod or apart, before a model server."""

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.chart.pods import Container, Secrets
from tests.chart.rendering import Object, Values, caller, front, hook, render, worker
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tests.support.secure_kafka import SecureKafkaServer
from tests.support.stage import until
from tokenmill.servers.process import free_port

pytestmark = pytest.mark.integration

KEY = "only-for-this-test"
MODEL_KEY = "sk-model"

KEYS = f"""
[[keys]]
name = "test"
sha256 = "{hashlib.sha256(KEY.encode()).hexdigest()}"
conversations = ["*"]
actions = ["read", "stop", "write"]
"""

TEMPLATE = "{{ messages[0].content }}"

UPSTREAM = {"models": ["m"], "model": "test-model", "format": "hermes", "api_key_file": "/etc/tokenmill/upstreams/m"}

TOGETHER: Values = {"front.caller": True}
APART: Values = {"front.caller": False, "caller.enabled": True, "caller.replicas": 1}

KINDS: dict[str, dict[str, Any]] = {
    "vllm": {},
    "completions": {"template_file": "/etc/tokenmill/templates/m"},
}


def release(kafka: SecureKafkaServer, unique: str, upstream: dict[str, Any], parts: Values) -> list[Object]:
    """A release behind TLS and a login, on free ports, that nobody else's topics come near to."""
    names = ("tokens", "events", "tool_calls", "tool_results", "tool_state", "tool_control", "requests", "dlq")
    return render(
        values={
            "config.kafka.bootstrap_servers": kafka.secure_bootstrap,
            "config.kafka.group_id": f"group-{unique}",
            "config.kafka.security_protocol": "SASL_SSL",
            "config.kafka.sasl_mechanism": "SCRAM-SHA-512",
            "config.redis.url": "memory://",
            "config.topics": {name: f"{name}-{unique}" for name in names},
            "config.worker.port": free_port(),
            "config.gateway.auth": "keys",
            "config.front": {"port": free_port(), "ops_port": free_port()},
            "config.caller": {"port": free_port(), "group_id": f"callers-{unique}"},
            "config.upstreams": [upstream],
            "kafka.login.existingSecret": "kafka-login",
            "kafka.ca.existingSecret": "kafka-ca",
            "upstreams.keys": {"m": {"existingSecret": "model-keys"}},
            "upstreams.templates": {"m": {"existingConfigMap": "templates", "key": "m.jinja"}},
            "gateway.keys.existingSecret": "gateway-keys",
            "topics.partitions": 2,
            "topics.replication": 1,
            "worker.replicas": 1,
            "front.enabled": True,
            "front.replicas": 1,
            "front.preStopSeconds": 1,
            **parts,
        }
    )


async def asked(port: int, key: str) -> tuple[int, dict[str, Any]]:
    """Status and body of a chat completion."""
    body = {"model": "m", "messages": [{"role": "user", "content": "What is for lunch?"}]}
    url, headers = f"http://127.0.0.1:{port}/v1/chat/completions", {"authorization": f"Bearer {key}"}
    async with (
        asyncio.timeout(60),
        aiohttp.ClientSession() as session,
        session.post(url, json=body, headers=headers) as answer,
    ):
        return answer.status, await answer.json()


async def started(pods: Sequence[Container], stack: ExitStack) -> None:
    """All of them are up and ready, by their own probes."""
    for pod in pods:
        stack.callback(pod.kill)
        pod.start()
    for pod in pods:
        await until(partial(pod.passes, "startupProbe"), "the process is up", pod.patience("startupProbe"))
        await until(partial(pod.passes, "readinessProbe"), "it is ready", 60)


@pytest.mark.parametrize(("kind", "parts"), [("vllm", TOGETHER), ("completions", APART)], ids=["together", "apart"])
async def test_a_release_answers_by_its_models_and_drains(
    kind: str, parts: Values, tmp_path: Path, secure_kafka: SecureKafkaServer, secrets: Secrets, unique: str
) -> None:
    """The job makes the topics; who has the key gets an answer; each pod ends within its grace period."""
    kept = {"gateway-keys": {"keys.toml": KEYS}, "model-keys": {"m": MODEL_KEY}, "templates": {"m.jinja": TEMPLATE}}
    async with Vllm(lambda _: Script("Soup."), api_key=MODEL_KEY) as server:
        objects = release(secure_kafka, unique, {**UPSTREAM, **KINDS[kind], "kind": kind, "urls": [server.url]}, parts)
        job = Container(hook("Job", objects), objects, {**secrets, **kept}, tmp_path / "job")
        code, said = await asyncio.to_thread(job.run, 120)
        assert code == 0, said
        assert f"requests-{unique}" in said

        made = {"worker": worker, "front": front, **({"caller": caller} if parts == APART else {})}
        pods = {
            name: Container(part(objects), objects, {**secrets, **kept}, tmp_path / name) for name, part in made.items()
        }
        with ExitStack() as stack:
            await started([*pods.values()], stack)
            port = next(each["containerPort"] for each in pods["front"].spec["ports"] if each["name"] == "http")
            assert (await asked(port, "another-key"))[0] == 401
            status, answer = await asked(port, KEY)
            assert status == 200, answer
            assert answer["choices"][0]["message"]["content"] == "Soup."
            (generation,) = server.generations
            assert (generation.body.get("prompt") == "What is for lunch?") == (kind == "completions")
            assert all(pod.passes("livenessProbe") for pod in pods.values())
            for pod in reversed(pods.values()):
                assert await asyncio.to_thread(pod.stop) == 0, pod.log.read_text()
