"""A runner of tools as a child process, with a configuration file and a file of servers of its own."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tokenmill.servers.process import Server
from tokenmill.servers.worker import Settings, toml

JOINED = "partitions are ours"
"""What it says when the group has given it its partitions, be they none."""


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
        config.write_text(toml(self._settings))
        servers.write_bytes(msgspec.json.encode({"mcpServers": self._servers}))
        return [sys.executable, "-m", "tokenmill", "tools", "run", "--config", str(config), "--servers", str(servers)]

    def ready(self) -> bool:
        return JOINED in self.log.read_text(errors="replace")
