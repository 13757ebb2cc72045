"""Brokers whose clients come through relays; among themselves they are connected directly."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.support.kafka_cluster import KafkaCluster, Member
from tests.support.relay import Relay
from tokenmill.servers.process import free_port

LISTENERS = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BROKERS:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "BROKERS",
}


LEADS = re.compile(r"Completed transition to Leader\(.*?\bepoch=(\d+)")
"""What a broker notes when it becomes the active controller; the newest epoch is the one that counts."""


class RelayedMember(Member):
    """A broker that tells clients another port than the one at which it listens."""

    def __init__(self, folder: Path, controllers: Mapping[int, str], settings: Mapping[str, str], cluster: str) -> None:
        super().__init__(folder, controllers, {**settings, **LISTENERS}, cluster)
        self.relay_port = free_port()
        self._brokers_port = free_port()

    @property
    def bootstrap(self) -> str:
        """The relay."""
        return f"127.0.0.1:{self.relay_port}"

    def listeners(self) -> Mapping[str, str]:
        """For clients, behind the relay, and for the other brokers."""
        return {"PLAINTEXT": f"127.0.0.1:{self.port}", "BROKERS": f"127.0.0.1:{self._brokers_port}"}

    def advertised(self) -> Mapping[str, str]:
        """The relay, and the other brokers' way."""
        return {**self.listeners(), "PLAINTEXT": self.bootstrap}


class RelayedCluster(KafkaCluster):
    """A cluster of such brokers."""

    member = RelayedMember

    def controller(self) -> int:
        """The node id of the active controller. Clients are not told who that is, so it is read from the logs."""
        leaders = [
            (int(epoch), node)
            for node, broker in self.brokers.items()
            for epoch in LEADS.findall(broker.log.read_text())
        ]
        return max(leaders)[1]

    @asynccontextmanager
    async def relays(self) -> AsyncIterator[dict[int, Relay]]:
        """A relay in front of each broker, by node id."""
        relays = {}
        async with AsyncExitStack() as opened:
            for node, broker in self.brokers.items():
                assert isinstance(broker, RelayedMember)
                relays[node] = await opened.enter_async_context(Relay(broker.port, broker.relay_port))
            yield relays
