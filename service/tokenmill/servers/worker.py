"""A tokenmill worker as a child process."""

from collections.abc import Sequence
from typing import Any

from tokenmill.servers.ours import OurProcess


class WorkerProcess(OurProcess):
    """`tokenmill worker`."""

    name = "the worker"
    section = "worker"

    def command(self) -> Sequence[str]:
        return self.tokenmill("worker")

    def places(self) -> dict[str, Any]:
        return {"port": self.port, "bind": "127.0.0.1"}
