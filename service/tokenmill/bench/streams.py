"""The peer of the pipeline benchmark: Kafka Streams, which reads chunks as JSON, keeps a state, and writes events.

It does what a worker does around its parser, but parses nothing: see `deploy/kafka-streams/Numbering.java`. Needs a JDK
and `mvn`.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tokenmill.errors import MissingServer
from tokenmill.servers.kafka import CHECKOUT, java
from tokenmill.servers.process import Server

PROGRAM = CHECKOUT / "deploy" / "kafka-streams"

GUARANTEES = {"at-least-once": "at_least_once", "exactly-once": "exactly_once_v2"}
"""Kafka Streams' name for each kind of delivery."""

HEAP = "512m"


class Streaming(msgspec.Struct, frozen=True):
    """Input, output and settings."""

    bootstrap: str
    group: str
    source: str
    target: str
    delivery: str
    commit_interval_ms: int


class KafkaStreams(Server):
    """One process with one working thread."""

    name = "Kafka Streams"
    start_s = 60.0

    def __init__(self, folder: Path, job: Streaming) -> None:
        super().__init__(folder)
        self._job = job

    def command(self) -> Sequence[str]:
        """Return the command; Java compiles the single file by itself. Raises `MissingServer` without a JDK."""
        if shutil.which("javac") is None:
            raise MissingServer("no Kafka Streams to start: install a JDK (Debian: default-jdk-headless)")
        job = self._job
        way = job.bootstrap, job.group, job.source, job.target, GUARANTEES[job.delivery], str(job.commit_interval_ms)
        run = java(HEAP, PROGRAM / "pom.xml")
        return [*run, "-XX:+UseSerialGC", str(PROGRAM / "Numbering.java"), *way, str(self.folder / "state")]

    def ready(self) -> bool:
        """Whether it has reported its partitions."""
        return b"state RUNNING" in self.log.read_bytes()
