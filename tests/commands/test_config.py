"""`tokenmill config check`."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tokenmill.commands.config import command
from tokenmill.config import load_config
from tokenmill.errors import ConfigError


def test_a_sound_configuration_is_said_to_be(tmp_path: Path) -> None:
    """Nothing has to run for that."""
    path = tmp_path / "t.toml"
    path.write_text('[kafka]\nbootstrap_servers = "k:1"\n')
    run = CliRunner().invoke(command, ["check", "--config", str(path)])
    assert (run.exit_code, run.stdout) == (0, "The configuration is sound.\n")


def test_a_front_without_models_is_noticed(tmp_path: Path) -> None:
    """It starts all the same, so it is no problem; who has no front hears nothing of it."""
    path = tmp_path / "t.toml"
    path.write_text("[front]\nport = 8000\n")
    run = CliRunner().invoke(command, ["check", "--config", str(path)])
    assert (run.exit_code, run.stdout) == (0, "The configuration is sound.\n")
    assert "no [[upstreams]]" in run.stderr


def test_all_settings_can_be_shown_without_the_secrets(tmp_path: Path) -> None:
    """Passwords are masked."""
    path = tmp_path / "t.toml"
    path.write_text('[kafka]\nsecurity_protocol = "SASL_SSL"\nsasl_username = "u"\nsasl_password = "hidden-password"\n')
    for option in ("--show", "--json"):
        run = CliRunner().invoke(command, ["check", option, "--config", str(path)])
        assert (run.exit_code, run.stderr) == (0, "The configuration is sound.\n")
        assert "sasl_username" in run.stdout
        assert "hidden-password" not in run.stdout


def test_what_is_shown_can_be_read_back(tmp_path: Path) -> None:
    """As TOML; the same stands in JSON."""
    path, again = tmp_path / "t.toml", tmp_path / "again.toml"
    path.write_text('[parser]\nformat = ["hermes", "qwen3_xml"]\n[[outputs]]\ntopic = "t"\ndialect = "openai"\n')
    run = CliRunner().invoke(command, ["check", "--show", "--config", str(path)])
    again.write_text(run.stdout)
    assert load_config(again, {}) == load_config(path, {})
    found = CliRunner().invoke(command, ["check", "--json", "--config", str(path)])
    assert msgspec.json.decode(found.stdout) == msgspec.toml.decode(run.stdout)


def test_names_that_do_not_exist_are_problems(tmp_path: Path) -> None:
    """A codec, format or dialect that the worker would refuse at its start is refused here."""
    path = tmp_path / "t.toml"
    path.write_text('[parser]\ncodec = "nonsense"\n[[outputs]]\ntopic = "t"\ndialect = "nonsense"\n')
    with pytest.raises(ConfigError) as problem:
        CliRunner().invoke(command, ["check", "--config", str(path)], catch_exceptions=False)
    assert len(problem.value.problems) == 2
