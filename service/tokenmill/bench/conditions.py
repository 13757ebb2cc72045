"""What the figures of a benchmark depend on besides the code."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from tokenmill.errors import FatalError

PACKAGES = ("tokenmill", "aiokafka", "msgspec", "redis", "uvloop")
"""Packages whose versions are part of a result."""


def conditions() -> dict[str, str]:
    """Return what the figures depend on besides the code."""
    return {
        "python": platform.python_version(),
        "processors": f"{os.cpu_count()} of {processor()}",
        "load average afterwards": ", ".join(f"{load:.1f}" for load in os.getloadavg()),
        **{package: version(package) for package in PACKAGES},
    }


def commit_of(checkout: Path) -> str:
    """Return the short commit of a checkout. Raises `FatalError` if git can't name it."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise FatalError(f"{checkout} is no checkout: {run.stderr.strip()}")
    return run.stdout.strip()


def processor() -> str:
    """Return the processor by its maker's name if the system has it, else its architecture."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.exists() else []
    names = (value.strip() for key, _, value in (line.partition(":") for line in lines) if key.strip() == "model name")
    return next(names, platform.machine())
