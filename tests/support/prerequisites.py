"""What tests need from the machine beside Python, and what becomes of them where it is missing."""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from tests.conformance.shared_cases import folder
from tests.support.judging import NODE
from tests.support.servers import docker_answers


class Need(NamedTuple):
    """Something that is not here."""

    what: str
    then: str


SKIPPED = "fail" if os.environ.get("CI") else "are skipped"

PYTHONS = ("3.11", "3.12", "3.13")
"""Versions in which new users may install the package."""


def found_python(version: str) -> str | None:
    """Where the interpreter of a version is: the running one, on the path, or where pyenv has it."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    found = shutil.which(f"python{version}", path=re.sub(r"[^:]*/shims:?", "", os.environ["PATH"]))
    kept = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob(f"versions/{version}.*/bin/python")
    return found or next(map(str, kept), None)


def missing() -> list[Need]:
    """All that is not here, each with what becomes of its tests."""
    docker, java = docker_answers(), bool(shutil.which("java") and shutil.which("mvn"))
    needs = {
        Need("java and mvn, or a Docker daemon", "tests with Kafka fail, unless TOKENMILL_TEST_BOOTSTRAP names one"): (
            java or docker or bool(os.environ.get("TOKENMILL_TEST_BOOTSTRAP"))
        ),
        Need("java and mvn", "tests that start brokers of their own fail"): java,
        Need("go", "tests of the chart, the compose files and telemetry fail"): bool(shutil.which("go")),
        Need("node with `make install`", f"tests with clients for Node {SKIPPED}"): (
            bool(shutil.which("node")) and (NODE / "node_modules").is_dir()
        ),
        Need("chromium", f"tests in a browser {SKIPPED}"): bool(shutil.which("chromium")),
        Need("the cases of other projects (TOKENMILL_CASES)", f"tests of them {SKIPPED}"): folder() is not None,
        **{
            Need(f"Python {version}", f"tests of installing with it {SKIPPED}"): found_python(version) is not None
            for version in PYTHONS
        },
        Need("a Docker daemon", "the test that builds the image is skipped"): docker,
    }
    return [need for need, here in needs.items() if not here]
