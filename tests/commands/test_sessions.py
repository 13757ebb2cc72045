"""`tokenmill sessions`; what it shows is tested with a worker, in `integration`."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tokenmill.commands.sessions import command
from tokenmill.errors import ConfigError


def test_without_the_topic_there_are_no_sessions(tmp_path: Path) -> None:
    """The key that is missing is named."""
    config = tmp_path / "t.toml"
    config.write_text("")
    with pytest.raises(ConfigError, match=r"topics\.sessions: is empty"):
        CliRunner().invoke(command, ["show", "c", "--config", str(config)], catch_exceptions=False)


def test_help_says_where_sessions_come_from() -> None:
    """From Redis, else from the topic."""
    shown = CliRunner().invoke(command, ["show", "--help"])
    assert "from the topic" in " ".join(shown.output.split())
