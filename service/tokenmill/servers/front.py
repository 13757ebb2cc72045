"""A front, or a caller alone, as a child process."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenmill.servers.ours import OurProcess, Settings
from tokenmill.servers.process import free_port


class FrontProcess(OurProcess):
    """`tokenmill front`, with a caller in it or without."""

    name = "the front"
    section = "front"

    def __init__(self, folder: Path, settings: Settings, *, caller: bool = True) -> None:
        super().__init__(folder, settings)
        self._caller = caller
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
        return self.tokenmill("front", *([] if self._caller else ["--no-caller"]))

    def places(self) -> dict[str, Any]:
        return {"bind": "127.0.0.1", "port": self.port, "ops_bind": "127.0.0.1", "ops_port": self._ops_port}


class CallerProcess(OurProcess):
    """`tokenmill caller`."""

    name = "the caller"
    section = "caller"

    def command(self) -> Sequence[str]:
        return self.tokenmill("caller")

    def places(self) -> dict[str, Any]:
        return {"bind": "127.0.0.1", "port": self.port}
