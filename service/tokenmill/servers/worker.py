"""A tokenmill worker as a child process."""

import os
from pathlib import Path
from typing import Any

from tokenmill.servers.ours import OurProcess, Settings


class WorkerProcess(OurProcess):
    """`tokenmill worker`."""

    name = "the worker"
    section = "worker"

    def __init__(self, folder: Path, settings: Settings, checkout: Path | None = None) -> None:
        """Use the code of `checkout`, if given."""
        super().__init__(folder, settings)
        self._checkout = checkout

    def surroundings(self) -> dict[str, Any]:
        ours = super().surroundings()
        if self._checkout is None:
            return ours
        return {**ours, "env": {**os.environ, "PYTHONPATH": str(self._checkout / "service")}}
