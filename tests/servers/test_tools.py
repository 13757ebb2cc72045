"""The runner of tools as a child process."""

import json
from pathlib import Path

from tokenmill.config import load_config
from tokenmill.servers.tools import ToolsProcess


def test_its_files_are_what_was_asked_for(tmp_path: Path) -> None:
    """The runner reads them as we meant them."""
    servers = {"time": {"command": "mcp-server-time"}}
    *_, path, _, config = ToolsProcess(tmp_path, {"tools": {"calls": 7}}, servers).command()
    assert load_config(Path(config), {}).tools.calls == 7
    assert json.loads(Path(path).read_text()) == {"mcpServers": servers}
