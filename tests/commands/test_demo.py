"""`tokenmill demo`; what it does is tested with `demo/run.py`."""

from typing import Any

import pytest
from click.testing import CliRunner

from tokenmill.commands import demo
from tokenmill.terminal.console import Terminal


def test_it_runs_the_demo_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a console that leaves model text as it is."""
    given: list[Any] = []
    monkeypatch.setattr(demo, "run_demo", given.append)
    assert CliRunner().invoke(demo.command).exit_code == 0
    assert [type(console) for console in given] == [Terminal]
