"""A tokenmill gateway as a child process."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenmill.servers.ours import OurProcess, Settings
from tokenmill.servers.process import free_port


class GatewayProcess(OurProcess):
    """`tokenmill gateway`."""

    name = "the gateway"
    section = "gateway"

    def __init__(self, folder: Path, settings: Settings) -> None:
        super().__init__(folder, settings)
        self._ops_port = 0

    @property
    def url(self) -> str:
        """Return the clients' address, without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ops_port(self) -> int:
        return self._ops_port

    def command(self) -> Sequence[str]:
        self._ops_port = free_port()
        return self.tokenmill("gateway")

    def places(self) -> dict[str, Any]:
        return {"bind": "127.0.0.1", "port": self.port, "ops_bind": "127.0.0.1", "ops_port": self._ops_port}
