"""The files under `deploy/`, and the tools that check them."""

import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.structure.tree import CHECKOUT

DEPLOY = CHECKOUT / "deploy"
TOOLS = DEPLOY / "tools"
RULES = (DEPLOY / "prometheus" / "recording.yaml", DEPLOY / "prometheus" / "alerts.yaml")

CHECK_S = 240
"""Rules are tested over hours of made-up metrics, which takes half a minute."""

FETCH_S = 1800
"""A tool is fetched or built once, at most two minutes of two processors; and machines are shared."""


LESS_COLLECTED = {"GOGC": "400"}
"""Garbage of promtool, which needs little memory and else spends a sixth of its time on it."""


@cache
def tool(script: str, *words: str) -> Path:
    """Path of what a script in `deploy/tools` fetches or builds. Fails the test where it can't be had."""
    run = subprocess.run([TOOLS / script, *words], capture_output=True, text=True, timeout=FETCH_S, check=False)
    if run.returncode:
        pytest.fail(run.stderr)
    return Path(run.stdout.strip())


def promtool(*arguments: str | Path, given: str | None = None) -> str:
    """Everything that promtool prints. Fails the test if it finds a fault."""
    command = [tool("debian-program", "promtool"), *arguments]
    run = subprocess.run(
        command,
        input=given,
        env=os.environ | LESS_COLLECTED,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=CHECK_S,
        check=False,
    )
    if run.returncode:
        pytest.fail(run.stdout)
    return run.stdout


def read_yaml(path: Path) -> Any:
    """A YAML file with one document."""
    return yaml.safe_load(path.read_text())


def rules(path: Path) -> list[dict[str, Any]]:
    """The rules of all groups of a file."""
    return [rule for group in read_yaml(path)["groups"] for rule in group["rules"]]
