"""A tool runner as a child process, with its own servers file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tokenmill.servers.ours import OurProcess, Settings


class ToolsProcess(OurProcess):
    """`tokenmill tools run` with `servers`, as `mcpServers` has them."""

    name = "the runner of tools"
    section = "tools"

    def __init__(self, folder: Path, settings: Settings, servers: Mapping[str, Any]) -> None:
        super().__init__(folder, settings)
        self._servers = servers

    def command(self) -> Sequence[str]:
        servers = self.folder / "servers.json"
        servers.write_bytes(msgspec.json.encode({"mcpServers": self._servers}))
        return self.tokenmill("tools", "run", "--servers", str(servers))
