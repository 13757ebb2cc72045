"""A tokenmill gateway as a child process, with a configuration file of its own."""

import sys
from collections.abc import Sequence
from pathlib import Path

from tokenmill.servers.process import Server, answer_of, free_port
from tokenmill.servers.worker import Settings, toml


class GatewayProcess(Server):
    """`tokenmill gateway` with `settings` (section → key → value) and free ports on the loopback interface."""

    name = "the gateway"
    start_s = 60.0  # as a worker's: imports take seconds on a busy machine

    def __init__(self, folder: Path, settings: Settings) -> None:
        super().__init__(folder)
        self._settings = settings
        self._ops_port = 0

    @property
    def url(self) -> str:
        """Where clients come to, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        self._ops_port = free_port()
        places = {"bind": "127.0.0.1", "port": self.port, "ops_bind": "127.0.0.1", "ops_port": self._ops_port}
        config = self.folder / "tokenmill.toml"
        config.write_text(toml({**self._settings, "gateway": {**self._settings.get("gateway", {}), **places}}))
        return [sys.executable, "-m", "tokenmill", "gateway", "--config", str(config)]

    def ready(self) -> bool:
        return answer_of(f"http://127.0.0.1:{self._ops_port}/readyz") is not None

    def metrics(self) -> str:
        """What `/metrics` says now; empty if it does not answer."""
        return answer_of(f"http://127.0.0.1:{self._ops_port}/metrics") or ""
