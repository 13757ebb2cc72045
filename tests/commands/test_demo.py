"""`tokenmill demo`; what it does is tested with `demo/run.py`."""

from typing import Any

import pytest
from click.testing import CliRunner

from tokenmill.commands import demo
from tokenmill.terminal.console import Terminal


@pytest.mark.parametrize(("options", "keep"), [([], False), (["--keep"], True)])
def test_it_runs_the_demo_on_the_terminal(options: list[str], keep: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a console that leaves model text as it is; it stays if it is told to."""
    given: list[Any] = []
    monkeypatch.setattr(demo, "run_demo", lambda console, *, keep: given.append((type(console), keep)))
    assert CliRunner().invoke(demo.command, options).exit_code == 0
    assert given == [(Terminal, keep)]


@pytest.mark.parametrize(("options", "keep"), [(["--front"], False), (["--front", "--keep"], True)])
def test_it_shows_the_front_where_it_is_asked_to(
    options: list[str], keep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instead of the whole flow."""
    given: list[Any] = []
    monkeypatch.setattr(demo, "run_front_demo", lambda console, *, keep: given.append((type(console), keep)))
    assert CliRunner().invoke(demo.command, options).exit_code == 0
    assert given == [(Terminal, keep)]
