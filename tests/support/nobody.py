"""Programs of an installed environment, run as the image runs them: by a user without name, rights or a home."""

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.support.dockerfile import DOCKERFILE, named, pairs, stages
from tokenmill.errors import MissingServer
from tokenmill.servers.process import Server

NOBODY = 65_532
"""The image's user. No system has a name for it."""

RUN_S = 120

Settings = Mapping[str, Mapping[str, Any]]

(_ENV,) = named(stages(DOCKERFILE.read_text())[-1], "ENV")


def identity() -> dict[str, Any]:
    """The user that runs the programs: that of the image if root runs the tests, else the one that runs the tests."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def python_for_all() -> Path:
    """A Python 3.11 or later that every user may run: that of the tests may be in a home folder."""
    names = [f"/{place}/bin/python3.{minor}" for minor in (11, 12, 13) for place in ("usr/local", "usr")]
    for candidate in (os.path.realpath(sys.executable), *names):
        try:
            run = subprocess.run(
                [candidate, "-c", "import ensurepip"], cwd="/", env={}, capture_output=True, check=False, **identity()
            )
        except OSError:
            continue
        if run.returncode == 0:
            return Path(candidate)
    raise MissingServer("no Python 3.11 or later that everybody may run (Debian: apt-get install python3-venv)")


class Nobody:
    """Runs the programs of a virtual environment in `folder`, in which nothing can be changed meanwhile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def environ(self, more: Mapping[str, str]) -> dict[str, str]:
        """The image's variables. The home is a folder that can only be read."""
        return {**pairs(_ENV), "PATH": f"{self.folder}/bin:/usr/bin:/bin", "HOME": str(self.folder), **more}

    @contextmanager
    def read_only(self) -> Iterator["Nobody"]:
        """Inside the block only root can write into the folder, as in the image."""
        folders = [self.folder, *(path for path in self.folder.rglob("*") if path.is_dir() and not path.is_symlink())]
        for path in folders:
            path.chmod(0o555)
        try:
            yield self
        finally:
            for path in folders:
                path.chmod(0o755)

    def run(self, *command: str, **more: str) -> str:
        """What a program prints on its standard output. Raises `AssertionError` if it fails."""
        run = subprocess.run(
            ["env", *command],  # looks on the path of its own environment, not on that of the tests
            cwd="/",
            env=self.environ(more),
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
            **identity(),
        )
        assert run.returncode == 0, run.stderr
        return str(run.stdout)


class ImageWorker(Server):
    """A process of the image on a free port, with `settings` (section → key → value) as variables."""

    name = "the image's worker"
    start_s = 120.0

    def __init__(self, folder: Path, nobody: Nobody, started: Sequence[str], settings: Settings) -> None:
        super().__init__(folder)
        self._nobody = nobody
        self._started = started
        self._settings = settings

    @property
    def variables(self) -> dict[str, str]:
        """The settings, and the port at which operators ask, of a worker or a gateway."""
        texts = {
            f"TOKENMILL_{section}__{key}".upper(): msgspec.json.encode(value).decode().strip('"')
            for section, values in self._settings.items()
            for key, value in values.items()
        }
        ports = {"TOKENMILL_WORKER__PORT": str(self.port), "TOKENMILL_GATEWAY__OPS_PORT": str(self.port)}
        return {**texts, **ports, "TOKENMILL_GATEWAY__PORT": "0"}

    def command(self) -> Sequence[str]:
        rights = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
        environ = [f"{key}={value}" for key, value in self._nobody.environ(self.variables).items()]
        return [*rights, "env", "--ignore-environment", "--chdir=/", *environ, *self._started]

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=2):
                return True
        except OSError:
            return False
