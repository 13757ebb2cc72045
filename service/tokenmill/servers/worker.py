"""A tokenmill worker as a child process, with a configuration file of its own."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tokenmill.servers.process import Server, answer_of

Settings = Mapping[str, Mapping[str, Any]]


class WorkerProcess(Server):
    """`tokenmill worker` with `settings` (section → key → value) and a free port for its endpoints."""

    name = "the worker"
    start_s = 60.0  # imports and joining a group take five; on a busy machine many times that

    def __init__(self, folder: Path, settings: Settings) -> None:
        super().__init__(folder)
        self._settings = settings

    def command(self) -> Sequence[str]:
        config = self.folder / "tokenmill.toml"
        config.write_text(toml({**self._settings, "worker": self._endpoint()}))
        return [sys.executable, "-m", "tokenmill", "worker", "--config", str(config)]

    def _endpoint(self) -> dict[str, Any]:
        return {**self._settings.get("worker", {}), "port": self.port, "bind": "127.0.0.1"}

    def ready(self) -> bool:
        return answer_of(f"http://127.0.0.1:{self.port}/readyz") is not None

    def metrics(self) -> str:
        """What `/metrics` says now; empty if it does not answer."""
        return answer_of(f"http://127.0.0.1:{self.port}/metrics") or ""


def toml(settings: Settings) -> str:
    """Sections of plain values; a JSON value that is no object is a TOML value too."""
    lines = []
    for section, values in settings.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {msgspec.json.encode(value).decode()}" for key, value in values.items()]
    return "\n".join(lines) + "\n"
