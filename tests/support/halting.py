"""A worker process that stands still at one point of its work, as if the machine had stalled there, and then goes on.

The test arms it. When the worker next calls the hook, it stops itself, all of it, heartbeats too.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenmill.config import load_config
from tokenmill.observe import Hooks
from tokenmill.servers.worker import WorkerProcess
from tokenmill.worker.host import run_worker


class HaltingWorker(WorkerProcess):
    """A worker with a point, which is the name of a hook."""

    def __init__(self, folder: Path, settings: Mapping[str, Mapping[str, Any]], point: str) -> None:
        super().__init__(folder, settings)
        self._point = point

    def command(self) -> Sequence[str]:
        config = super().command()[-1]
        return [sys.executable, "-P", __file__, config, self._point]

    def ready(self) -> bool:
        return self.halted or super().ready()

    def arm(self) -> None:
        """From now on it stands still as soon as it comes to its point."""
        self.folder.mkdir(parents=True, exist_ok=True)
        _armed(self.folder).touch()

    @property
    def halted(self) -> bool:
        """Whether it stands there; also after it was woken or killed."""
        return _halted(self.folder).exists()


def _armed(folder: Path) -> Path:
    return folder / "armed"


def _halted(folder: Path) -> Path:
    return folder / "halted"


def _run(config: Path, point: str) -> int:
    def reached(*_: object) -> None:
        if _armed(config.parent).exists():
            _armed(config.parent).rename(_halted(config.parent))
            os.kill(os.getpid(), signal.SIGSTOP)

    if point not in vars(Hooks):
        raise SystemExit(f"there is no hook {point}")
    hooks = Hooks()
    setattr(hooks, point, reached)
    return run_worker(load_config(config, {}), hooks)


if __name__ == "__main__":
    sys.exit(_run(Path(sys.argv[1]), sys.argv[2]))
