"""A worker behind TLS and logins, and what its log tells of secrets and conversations."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from tests.support.certificates import Identity, make_identity
from tests.support.secure_kafka import SecureKafkaServer
from tests.support.stage import Stage, counted, until
from tests.support.tls import tls_front
from tokenmill.errors import MissingServer
from tokenmill.servers import RedisServer
from tokenmill.servers.process import free_port

pytestmark = pytest.mark.integration

KAFKA_PASSWORD = "kafka-open-sesame"
REDIS_PASSWORD = "redis-open-sesame"

COMMANDS = (
    "+hset +hmget +hlen +hdel +hscan +hgetall +set +get +pexpire +unlink +multi +exec "
    "+eval +evalsha +script|load +ping +hello +select +client|setinfo"
)
"""All that the worker needs of Redis, as SECURITY.md has it."""


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    return make_identity(tmp_path / "identity")


@pytest.fixture
def secure_kafka(tmp_path: Path, identity: Identity) -> Iterator[SecureKafkaServer]:
    with SecureKafkaServer(tmp_path / "kafka", identity.both, {"alice": KAFKA_PASSWORD}) as server:
        yield server


def _secret(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content + "\n")
    return str(folder / name)


def _let_in(server: RedisServer, prefix: str) -> None:
    """A user that may do no more than the worker has to."""
    with redis.Redis(port=server.port) as client:
        rights = f"on >{REDIS_PASSWORD} ~{prefix}:* {COMMANDS}"
        client.execute_command("ACL", "SETUSER", "mill", *rights.split())
        client.execute_command("ACL", "SETUSER", "default", "off")


async def test_a_worker_behind_tls_and_logins_tells_no_secret_and_no_conversation(
    tmp_path: Path, secure_kafka: SecureKafkaServer, redis_server: RedisServer, identity: Identity, unique: str
) -> None:
    """Tokens in, events out, a restart from Redis; with a dead letter, a broken call and a Redis that goes away."""
    _let_in(redis_server, unique)
    async with (
        tls_front(identity, redis_server.port) as port,
        Stage(tmp_path, secure_kafka.bootstrap, unique, "memory://", partitions=2) as stage,
    ):
        url = f"rediss://mill:{REDIS_PASSWORD}@127.0.0.1:{port}/0?ssl_ca_certs={identity.certificate}"
        stage.settings["kafka"] |= {
            "bootstrap_servers": secure_kafka.secure_bootstrap,
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_username": "alice",
            "sasl_password_file": _secret(tmp_path, "kafka-password", KAFKA_PASSWORD),
            "ssl_cafile": str(identity.certificate),
        }
        stage.settings["redis"] = {"url_file": _secret(tmp_path, "redis-url", url), "key_prefix": unique}
        stage.settings["redis"]["timeout_s"] = 5
        worker = await stage.start()
        opening = {"format": "hermes", "model": "marker-model"}
        await stage.send("marker-key", {"message_id": "marker-id", "seq": 0, "open": opening, "delta": "marker-text "})
        await stage.send(
            "marker-key", {"message_id": "marker-id", "seq": 1, "delta": '<tool_call>{"name": marker-call'}
        )
        await stage.send("marker-key", b'{"marker-broken')
        await stage.send("marker-key", {"message_id": "marker-orphan", "seq": 7, "delta": "marker-late"})
        await until(stage.caught_up, "everything is committed")
        await asyncio.to_thread(worker.stop)
        worker = await stage.start()
        await stage.send("marker-key", {"message_id": "marker-id", "seq": 2, "delta": "</tool_call>", "end": True})
        await until(stage.caught_up, "everything is committed")
        redis_server.kill()
        await stage.send("marker-key", {"message_id": "marker-2", "seq": 0, "delta": "marker-text", "end": True})
        await until(lambda: counted(worker, 'tokenmill_redis_errors_total{op="write"}'), "Redis is missed")
        await asyncio.to_thread(worker.stop)

        assert stage.sources()["redis"] >= 1
        events = await stage.events()
        assert "malformed-call" in {event.get("code") for event in events}
        assert "marker-text" in json.dumps(events)
        logs = "".join(each.log.read_text() for each in stage.workers)
        assert "live at" in logs
        assert [word for word in ("marker", KAFKA_PASSWORD, REDIS_PASSWORD) if word in logs] == []


async def test_what_times_out_or_is_lost_is_not_quoted(stage: Stage) -> None:
    """The log of a worker that closes an idle message, and of one that finds its beginning gone."""
    worker = await stage.start(idle_timeout_s=1)
    await stage.send("marker-key", {"message_id": "marker-1", "seq": 0, "delta": "marker-text"}, partition=0)
    await until(stage.at_rest, "it is closed by a control record")
    await asyncio.to_thread(worker.stop)
    stage.settings["redis"] = {"url": "memory://"}
    worker = await stage.start()
    opened = await stage.send("marker-key", {"message_id": "marker-2", "seq": 0, "delta": "marker-text"}, partition=0)
    await until(stage.caught_up, "everything is committed")
    worker.kill()
    await stage.delete_records(0, opened + 1)
    await stage.start()
    await stage.send("marker-key", {"message_id": "marker-2", "seq": 1, "delta": "marker-text"}, partition=0)
    await until(stage.caught_up, "everything is committed")
    events = await stage.events()
    assert "timeout" in {event.get("reason") for event in events}
    assert "state-lost" in {event.get("code") for event in events}
    assert [line for line in stage.logged() if "marker" in str(line)] == []


async def test_a_refused_login_names_no_password(
    tmp_path: Path, secure_kafka: SecureKafkaServer, redis_server: RedisServer, identity: Identity, unique: str
) -> None:
    """Neither Kafka's nor Redis's; the worker says that it was refused."""
    _let_in(redis_server, unique)
    async with Stage(tmp_path, secure_kafka.bootstrap, unique, "memory://", partitions=2) as stage:
        stage.settings["redis"] = {"url": f"redis://mill:wrong-{REDIS_PASSWORD}@127.0.0.1:{redis_server.port}/0"}
        worker = await stage.start()
        await until(lambda: "invalid username-password" in worker.log.read_text(), "Redis refuses")
        stage.settings["kafka"] |= {
            "bootstrap_servers": secure_kafka.secure_bootstrap,
            "security_protocol": "SASL_SSL",
            "sasl_username": "alice",
            "sasl_password": f"wrong-{KAFKA_PASSWORD}",
            "ssl_cafile": str(identity.certificate),
            "startup_timeout_s": 3,
        }
        refused = stage.prepare()
        refused.port = free_port()  # it is started once, and not again on another
        with pytest.raises(MissingServer):
            await asyncio.to_thread(refused.start)
        assert "giving up" in refused.log.read_text()
        logs = "".join(each.log.read_text() for each in stage.workers)
        assert [word for word in (KAFKA_PASSWORD, REDIS_PASSWORD) if word in logs] == []
