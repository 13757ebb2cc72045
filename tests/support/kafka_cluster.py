"""Brokers that replicate each other's records: for faults that only a cluster has.

Each is both broker and controller, and can be killed, frozen, thawed and restarted separately. Of three, one may be
away, and the others continue.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from tokenmill.errors import MissingServer
from tokenmill.servers.kafka import KafkaServer, new_cluster_id
from tokenmill.servers.process import ATTEMPTS, free_port

HEAP = "256m"
"""Heap of each broker: a few topics, and hardly any traffic."""


def _settings(brokers: int) -> dict[str, str]:
    """Replicate everything to all brokers; a record counts when all but one have it."""
    held, enough = str(brokers), str(max(1, brokers - 1))
    return {
        "default.replication.factor": held,
        "min.insync.replicas": enough,
        "offsets.topic.replication.factor": held,
        "transaction.state.log.replication.factor": held,
        "transaction.state.log.min.isr": enough,
        "share.coordinator.state.topic.replication.factor": held,
        "share.coordinator.state.topic.min.isr": enough,
        "broker.session.timeout.ms": "3000",  # after this silence a broker is given up; busy is not silent
        "replica.lag.time.max.ms": "3000",
        "controller.quorum.fetch.timeout.ms": "1500",
        "controller.quorum.election.timeout.ms": "500",
    }


class Member(KafkaServer):
    """One broker of a cluster; its controllers are known before it starts."""

    def __init__(self, folder: Path, controllers: Mapping[int, str], settings: Mapping[str, str], cluster: str) -> None:
        super().__init__(folder, settings, HEAP, cluster)
        self.node = int(settings["node.id"])
        self._controllers = controllers

    def voters(self, node: int) -> Mapping[int, str]:  # noqa: ARG002 -- all know all
        return self._controllers


class KafkaCluster:
    """`brokers` brokers on the loopback interface; topics without their own setting are on all of them."""

    member: type[Member] = Member

    def __init__(self, folder: Path, brokers: int = 3, settings: Mapping[str, str] | None = None) -> None:
        """Take `settings` that override those of a cluster."""
        self.cluster_id = new_cluster_id()
        self.brokers: dict[int, Member] = {}
        """Brokers by node id, from 1."""
        self._folder = folder
        self._count = brokers
        self._settings = {**_settings(brokers), **(settings or {})}

    @property
    def bootstrap(self) -> str:
        """Return the value for `kafka.bootstrap_servers`."""
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def start(self) -> None:
        """Start all together, as none is ready before most are. Raises `MissingServer`."""
        for attempt in range(1, ATTEMPTS + 1):
            self.brokers = self._members(self._folder / str(attempt))
            try:
                with ThreadPoolExecutor(self._count) as pool:
                    list(pool.map(Member.start, self.brokers.values()))
            except MissingServer:  # a port was taken by another process meanwhile, or worse
                self.stop()
                if attempt == ATTEMPTS:
                    raise
            else:
                return

    def _members(self, folder: Path) -> dict[int, Member]:
        nodes = range(1, self._count + 1)
        controllers = {node: f"127.0.0.1:{free_port()}" for node in nodes}
        members = {}
        for node in nodes:
            settings = {**self._settings, "node.id": str(node)}
            members[node] = self.member(folder / f"broker-{node}", controllers, settings, self.cluster_id)
            members[node].port = free_port()
        return members

    def stop(self) -> None:
        """End all together, frozen ones too: their data is no longer needed."""
        for broker in self.brokers.values():
            broker.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
