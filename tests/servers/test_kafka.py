"""A broker from jars takes records, survives a crash, and says what is missing where it can't start."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import NewTopic

from tests.support.topics import admin_of
from tokenmill.errors import MissingServer
from tokenmill.servers import KafkaServer, kafka
from tokenmill.servers.process import free_port

StartKafka = Callable[..., KafkaServer]


async def create_topic(bootstrap: str, name: str) -> None:
    async with admin_of(bootstrap) as admin:
        await admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])


async def send(bootstrap: str, topic: str, value: bytes) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        await producer.send_and_wait(topic, value)


async def read(bootstrap: str, topic: str, number: int) -> list[bytes | None]:
    async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        return [(await consumer.getone()).value for _ in range(number)]


@pytest.mark.integration
async def test_records_survive_a_crash(start_kafka: StartKafka) -> None:
    """After a kill and a start on the same folder and port the acknowledged records are still there."""
    server = start_kafka()
    await create_topic(server.bootstrap, "tokens")
    await send(server.bootstrap, "tokens", b"before")
    first_pid, bootstrap = server.pid, server.bootstrap

    server.kill()
    server.start()

    assert server.pid != first_pid
    assert server.bootstrap == bootstrap
    await send(server.bootstrap, "tokens", b"after")
    assert await read(server.bootstrap, "tokens", 2) == [b"before", b"after"]


@pytest.mark.integration
def test_a_storage_is_formatted_once_for_all_that_are_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else they are set to, each in a cluster of its own. Another node is formatted by the tool again."""
    tool, formatted = KafkaServer._run_tool, list[Path]()

    def noted(server: KafkaServer, properties: Path) -> None:
        formatted.append(server.folder)
        tool(server, properties)

    monkeypatch.setattr(KafkaServer, "_run_tool", noted)
    monkeypatch.setattr(kafka, "_WRITTEN", {})
    settings: list[dict[str, str]] = [{}, {"num.network.threads": "2"}, {"node.id": "2"}]
    servers = [KafkaServer(tmp_path / name, more) for name, more in zip("abc", settings, strict=True)]
    for server in servers:
        server.folder.mkdir()
        server.port = free_port()
        server.command()
    assert formatted == [servers[0].folder, servers[2].folder]
    written = [
        {path.name: path.read_text(errors="replace") for path in (each.folder / "data").iterdir()} for each in servers
    ]
    of_clusters = [files.pop("meta.properties") for files in written]
    assert all(f"cluster.id={server.cluster_id}\n" in of for server, of in zip(servers, of_clusters, strict=True))
    assert written[0] == written[1]
    assert written[0].keys() == {"bootstrap.checkpoint"}


@pytest.mark.integration
async def test_the_shared_broker_takes_records(kafka: str, unique: str) -> None:
    """Whatever broker the run uses, a test can make a topic on it and read back what it wrote."""
    await create_topic(kafka, unique)
    await send(kafka, unique, b"hello")
    assert await read(kafka, unique, 1) == [b"hello"]


@pytest.mark.integration
def test_a_wrong_setting_is_said(tmp_path: Path) -> None:
    """A broker that ends while it starts is an error that quotes what it said."""
    with pytest.raises(MissingServer, match=r"process\.roles"):
        KafkaServer(tmp_path, {"process.roles": "cook"}).start()


def test_missing_tools_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without java and mvn the error says what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(kafka, "BUILD", tmp_path)
    with pytest.raises(MissingServer, match=r"install java"):
        KafkaServer(tmp_path / "data").start()


def test_without_a_checkout_there_are_no_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pom lies in the checkout; an installed wheel says so."""
    monkeypatch.setattr(kafka, "POM", tmp_path / "pom.xml")
    with pytest.raises(MissingServer, match="from a checkout"):
        kafka.kafka_jars()


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a `mvn` first on the path that runs a script; $out is the folder that it is to fill. Nothing is built yet."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setattr(kafka, "BUILD", tmp_path / "build")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    def install(script: str) -> None:
        program = programs / "mvn"
        program.write_text(f'#!/bin/sh\nfor out; do :; done; out="${{out#-DoutputDirectory=}}"\n{script}\n')
        program.chmod(0o755)

    return install


def test_jars_are_copied_once(maven: Callable[[str], None]) -> None:
    """The first call runs Maven, the next one finds what it left."""
    maven('mkdir -p "$out" && touch "$out/kafka.jar"')
    folder = kafka.kafka_jars()
    assert [path.name for path in folder.iterdir()] == ["kafka.jar"]
    maven("exit 1")
    assert kafka.kafka_jars() == folder


def test_a_maven_that_fails_is_quoted_and_leaves_nothing(maven: Callable[[str], None]) -> None:
    """What it printed is in the error; a later call tries again."""
    maven('mkdir -p "$out" && touch "$out/half.jar"; echo no route to host; exit 1')
    with pytest.raises(MissingServer, match="mvn can't fetch Kafka's jars: no route to host"):
        kafka.kafka_jars()
    assert list((kafka.BUILD / "kafka-test-server").iterdir()) == []
    maven('mkdir -p "$out"')
    assert kafka.kafka_jars().exists()


def test_another_process_may_be_faster(maven: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Jars that appear while Maven runs are used."""
    maven('mkdir -p "$out" "$JARS/of-another"')
    name = hashlib.sha256(kafka.POM.read_bytes()).hexdigest()[:12]
    monkeypatch.setenv("JARS", str(kafka.BUILD / "kafka-test-server" / name))
    assert [path.name for path in kafka.kafka_jars().iterdir()] == ["of-another"]
