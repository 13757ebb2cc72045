"""A runner of tools as a child process, with a configuration file and a file of servers of its own."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tokenmill.servers.process import Server, answer_of
from tokenmill.servers.worker import Settings, toml


class ToolsProcess(Server):
    """`tokenmill tools run` with `settings` (section → key → value) and `servers`, as `mcpServers` has them."""

    name = "the runner of tools"
    start_s = 60.0  # as a worker's: imports take seconds on a busy machine

    def __init__(self, folder: Path, settings: Settings, servers: Mapping[str, Any]) -> None:
        super().__init__(folder)
        self._settings = settings
        self._servers = servers

    def command(self) -> Sequence[str]:
        config, servers = self.folder / "tokenmill.toml", self.folder / "servers.json"
        places = {"bind": "127.0.0.1", "port": self.port}
        config.write_text(toml({**self._settings, "tools": {**self._settings.get("tools", {}), **places}}))
        servers.write_bytes(msgspec.json.encode({"mcpServers": self._servers}))
        return [sys.executable, "-m", "tokenmill", "tools", "run", "--config", str(config), "--servers", str(servers)]

    def ready(self) -> bool:
        return answer_of(f"http://127.0.0.1:{self.port}/readyz") is not None

    def metrics(self) -> str:
        """What `/metrics` says now; empty if it does not answer."""
        return answer_of(f"http://127.0.0.1:{self.port}/metrics") or ""
