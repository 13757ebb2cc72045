"""One Apache Kafka broker (KRaft, without ZooKeeper) from the jars of `deploy/kafka-test-server/pom.xml`.

Needs `java` (17 or later) and `mvn`. Maven copies the jars once into `build/` of the checkout; later starts use those.
"""

import hashlib
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokenmill.errors import MissingServer
from tokenmill.servers.process import Server, free_port

CHECKOUT = Path(__file__).resolve().parents[3]
POM = CHECKOUT / "deploy" / "kafka-test-server" / "pom.xml"
BUILD = CHECKOUT / "build"

JARS_S = 600
"""Seconds for the first download of about 45 MB."""

SETTINGS: Mapping[str, str] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    # With these two an idle broker costs 0.6 times what it costs with 200 and 500.
    "broker.heartbeat.interval.ms": "500",
    "metadata.max.idle.interval.ms": "0",  # no records only to report that there are none
    # Threads for the few cores of one machine. Those that wait wake up all the same: these, too, cost a quarter less.
    "num.io.threads": "2",
    "background.threads": "2",
    "group.coordinator.threads": "1",
    "share.coordinator.threads": "1",
    # A killed broker can come back once the controller has given up its old session. A heartbeat may take half of this;
    # one that takes longer, on a busy machine, keeps the broker from starting.
    "broker.session.timeout.ms": "4000",
    "auto.create.topics.enable": "false",  # a test that forgets a topic should fail
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",  # takeover after a kill takes one session
    "log.retention.ms": "-1",  # records may have any time; by default week-old ones are deleted within minutes
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
"""One node that holds everything and never waits for others."""

FORMATTED = ("node.id", "process.roles")
"""Settings that the files of a formatted storage depend on."""


def new_cluster_id() -> str:
    """Return an id that no other cluster has: 16 bytes in base64, beginning with `mill`."""
    return urlsafe_b64encode(b"mill" + secrets.token_bytes(12)).decode().rstrip("=")


def missing_tools() -> list[str]:
    """Return the programs that have to be installed before a broker can be started."""
    return [tool for tool in ("java", "mvn") if shutil.which(tool) is None]


def kafka_jars(pom: Path | None = None) -> Path:
    """Return the folder of a pom's jars, by default Kafka's, filled by Maven at the first call.

    Raises `MissingServer`, which names what to install.
    """
    pom = pom or POM
    if not pom.exists():
        raise MissingServer(f"Kafka is started from a checkout of tokenmill only: there is no {pom}")
    build = BUILD / pom.parent.name
    folder = build / hashlib.sha256(pom.read_bytes()).hexdigest()[:12]
    if folder.exists():
        return folder
    if missing := missing_tools():
        raise MissingServer(f"no Kafka to start: install {' and '.join(missing)} (Debian: default-jre-headless, maven)")
    build.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as unfinished:
        _copy_jars(pom, Path(unfinished) / "jars")
        _publish(Path(unfinished) / "jars", folder)
    return folder


def _copy_jars(pom: Path, folder: Path) -> None:
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    command = ["mvn", "--quiet", "--batch-mode", "--file", str(pom), *goal]
    run = subprocess.run(command, capture_output=True, text=True, timeout=JARS_S, check=False)
    if run.returncode:
        raise MissingServer(f"mvn can't fetch Kafka's jars: {(run.stdout + run.stderr).strip()[-2_000:]}")


def _publish(jars: Path, folder: Path) -> None:
    """Rename in one step, so that a folder that exists is complete; another process may have been faster."""
    try:
        jars.rename(folder)
    except OSError:
        if not folder.exists():
            raise


class KafkaServer(Server):
    """A broker on the loopback interface; data and log stay in `folder`. `settings` override `SETTINGS`.

    It is a separate cluster, with its own id, unless it is given a cluster's id.
    """

    name = "Kafka"
    start_s = 60.0

    def __init__(
        self, folder: Path, settings: Mapping[str, str] | None = None, heap: str = "512m", cluster_id: str = ""
    ) -> None:
        super().__init__(folder)
        self.cluster_id = cluster_id or new_cluster_id()
        self._settings = {**SETTINGS, **(settings or {})}
        self._heap = heap
        self._formatted_for = 0

    @property
    def bootstrap(self) -> str:
        """Return the value for `kafka.bootstrap_servers`."""
        return f"127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        properties = self.folder / "server.properties"
        data = self.folder / "data"
        if self._formatted_for != self.port:
            shutil.rmtree(data, ignore_errors=True)
            self._write_properties(properties, data)
            self._format(properties, data)
            self._formatted_for = self.port
        return [*java(self._heap), "-XX:+UseSerialGC", "kafka.Kafka", str(properties)]

    def _write_properties(self, path: Path, data: Path) -> None:
        node = int(self._settings["node.id"])
        voters = self.voters(node)
        settings = {
            **self._settings,
            "controller.quorum.voters": ",".join(f"{voter}@{address}" for voter, address in voters.items()),
            "listeners": f"{_joined(self.listeners())},CONTROLLER://{voters[node]}",
            "advertised.listeners": _joined(self.advertised()),
            "log.dirs": str(data),
        }
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def voters(self, node: int) -> Mapping[int, str]:
        """Return number → address of the controllers, of which `node` is this one."""
        return {node: f"127.0.0.1:{free_port()}"}

    def listeners(self) -> Mapping[str, str]:
        """Return name → address of the listeners."""
        return {"PLAINTEXT": self.bootstrap}

    def advertised(self) -> Mapping[str, str]:
        """Return name → address that the broker advertises to clients."""
        return self.listeners()

    def format_options(self) -> Sequence[str]:
        """Return further arguments for the tool that formats the storage."""
        return ()

    def _format(self, properties: Path, data: Path) -> None:
        """Format the storage by Kafka's own tool the first time; later, copy its files and change the cluster's id."""
        alike = (*(self._settings[name] for name in FORMATTED), *self.format_options())
        if (written := _WRITTEN.get(alike)) is None:
            self._run_tool(properties)
            _WRITTEN[alike] = {path.name: path.read_bytes() for path in data.iterdir()}
            return
        data.mkdir()
        for name, content in written.items():
            (data / name).write_bytes(
                re.sub(rb"(?m)^cluster\.id=.*$", b"cluster.id=" + self.cluster_id.encode(), content)
            )

    def _run_tool(self, properties: Path) -> None:
        command = [*java("128m"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "kafka.tools.StorageTool", "format"]
        command += ["-t", self.cluster_id, "-c", str(properties), *self.format_options()]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if run.returncode:
            raise MissingServer(f"Kafka's storage can't be formatted: {(run.stdout + run.stderr).strip()[-2_000:]}")

    def ready(self) -> bool:
        """Whether the broker has logged that it serves its listener, which it binds earlier."""
        return b"Kafka Server started" in self.log.read_bytes()


_WRITTEN: dict[tuple[object, ...], Mapping[str, bytes]] = {}
"""Files of a storage formatted in this process, by `FORMATTED` and the options of the format: formatting takes half as
long as starting a broker."""


def _joined(addresses: Mapping[str, str]) -> str:
    return ",".join(f"{name}://{address}" for name, address in addresses.items())


def java(heap: str, pom: Path | None = None) -> list[str]:
    """Return the beginning of a command with a pom's jars. Raises `MissingServer`, which names what to install."""
    if shutil.which("java") is None:
        raise MissingServer("no Kafka to start: install java (Debian: default-jre-headless)")
    jars = f"{kafka_jars(pom)}{os.sep}*"
    return ["java", f"-Xmx{heap}", "-cp", jars]
