"""A long-running tokenmill command as a child process, with its own configuration file."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from tokenmill.servers.process import Server, answer_of, free_port

Settings = Mapping[str, Mapping[str, Any] | Sequence[Mapping[str, Any]]]
"""Section → key → value; for lists of tables, name → tables."""


class OurProcess(Server):
    """`tokenmill` with `settings`, and with its own ports on the loopback interface."""

    start_s = 60.0  # imports and joining a group take five; on a busy machine many times that
    section: str
    """The command, and the section of the configuration that has its ports."""

    arguments: Sequence[str] = ()
    """Arguments after the command."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        super().__init__(folder)
        self._settings = settings

    def tokenmill(self, *arguments: str) -> Sequence[str]:
        """Write the configuration and return the command line."""
        config = self.folder / "tokenmill.toml"
        given = self._settings.get(self.section, {})
        section = {**(given if isinstance(given, Mapping) else {}), **self.places()}
        config.write_text(tomli_w.dumps({**self._settings, self.section: section}))
        return [sys.executable, "-m", "tokenmill", *arguments, "--config", str(config)]

    def command(self) -> Sequence[str]:
        return self.tokenmill(self.section, *self.arguments)

    def places(self) -> dict[str, Any]:
        """Return the settings for where it listens."""
        return {"bind": "127.0.0.1", "port": self.port}

    @property
    def ops_port(self) -> int:
        """Return the operators' port."""
        return self.port

    def ready(self) -> bool:
        return answer_of(f"http://127.0.0.1:{self.ops_port}/readyz") is not None

    def metrics(self) -> str:
        """Return the current text of `/metrics`; empty if it does not answer."""
        return answer_of(f"http://127.0.0.1:{self.ops_port}/metrics") or ""


class ClientsProcess(OurProcess):
    """A command that clients reach at a port besides the operators' port."""

    _ops_port = 0

    @property
    def url(self) -> str:
        """Return the clients' address, without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ops_port(self) -> int:
        return self._ops_port

    def command(self) -> Sequence[str]:
        self._ops_port = free_port()
        return super().command()

    def places(self) -> dict[str, Any]:
        return {**super().places(), "ops_bind": "127.0.0.1", "ops_port": self._ops_port}
