"""The configuration of a process of ours."""

import tomllib
from pathlib import Path

from tokenmill.servers.ours import OurProcess, Settings


class _Tools(OurProcess):
    name = "tools"
    section = "tools"


def test_settings_become_a_file(tmp_path: Path) -> None:
    """With the ports; everything else comes back as it was, tables in lists and keys with any characters too."""
    tools = {"calls": 7, "policy": ["a__*"], "spawn": True}
    settings: Settings = {
        "kafka": {"bootstrap_servers": 'k:1,"k":2'},
        "tools": tools,
        "upstreams": [{"models": ["a"], "open": {"tools": [{"function": {"$ref": "b", "c d": [1]}}]}}, {"calls": 1}],
    }
    process = _Tools(tmp_path, settings)
    process.port = 1234
    file = Path(process.command()[-1])
    assert tomllib.loads(file.read_text()) == {**settings, "tools": tools | {"bind": "127.0.0.1", "port": 1234}}
