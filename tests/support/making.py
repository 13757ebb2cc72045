"""Targets of the Makefile, made as they are from a shell."""

import os
import subprocess

from tests.structure.tree import CHECKOUT


def made(target: str, *settings: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """Make a target, which has to succeed. `settings` are of the form `NAME=value`.

    `make` that runs the tests, with several jobs perhaps, is none of its business, nor is their `pytest`.
    """
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTEST"))}
    command = ["make", target, *settings]
    run = subprocess.run(command, cwd=CHECKOUT, env=alone, capture_output=True, text=True, timeout=seconds, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run
