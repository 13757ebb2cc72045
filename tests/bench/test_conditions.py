"""What figures depend on besides the code."""

import os
import platform
import subprocess
from pathlib import Path

import pytest

from tokenmill.bench.conditions import PACKAGES, commit_of, conditions, processor
from tokenmill.errors import FatalError


def test_the_processor_has_a_name() -> None:
    """Its maker's, or at least that of the architecture."""
    assert processor()


def test_conditions_are_told() -> None:
    """The interpreter, the machine, how busy it was, and the packages that the work is done by."""
    told = conditions()
    assert told["python"] == platform.python_version()
    assert told["processors"] == f"{os.cpu_count()} of {processor()}"
    assert {"load average afterwards", *PACKAGES} <= told.keys()


def test_a_checkout_is_named_by_its_commit(tmp_path: Path) -> None:
    """What is none is no other version to measure."""
    with pytest.raises(FatalError, match="is no checkout"):
        commit_of(tmp_path)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    head = (tmp_path / ".git" / "logs" / "HEAD").read_text().split()[1]
    assert head.startswith(commit_of(tmp_path))
    assert len(commit_of(tmp_path)) >= 7
