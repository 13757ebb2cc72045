"""A run says at its start what it can't test, so that nobody finds out at its end."""

import sys
from pathlib import Path

import pytest

from tests.conftest import MARKED, pytest_report_header
from tests.structure.tree import CHECKOUT
from tests.support import prerequisites, servers


def test_what_is_missing_is_said_with_what_becomes_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with Python alone that is nearly everything."""
    servers.docker_answers.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TOKENMILL_CASES", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.delenv("TOKENMILL_TEST_BOOTSTRAP", raising=False)
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    others = (f"Python {version}" for version in prerequisites.PYTHONS if version != own)
    said = " ".join(pytest_report_header())
    servers.docker_answers.cache_clear()
    for name in ("java", "mvn", "go", "node", "chromium", "TOKENMILL_CASES", "Docker", *others):
        assert name in said


def test_nothing_is_said_of_what_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that can test everything begins without a word."""
    monkeypatch.setattr(prerequisites, "docker_answers", lambda: True)
    monkeypatch.setattr("shutil.which", lambda _name, **_where: "/bin/true")
    monkeypatch.setattr(prerequisites, "folder", Path)
    monkeypatch.setattr(prerequisites, "NODE", tmp_path)
    (tmp_path / "node_modules").mkdir()
    assert prerequisites.missing() == []


def test_what_is_left_out_of_a_quick_run_is_there() -> None:
    """A folder or file that was renamed would be part of it, whatever it takes."""
    assert [place for places in MARKED.values() for place in places if not (CHECKOUT / place).exists()] == []
