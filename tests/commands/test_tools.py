"""`tokenmill tools list`, with real servers."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tokenmill.commands.tools import command
from tokenmill.errors import ConfigError

WEATHER = {"command": sys.executable, "args": ["-m", "tests.support.mcp_server"]}


def tools(tmp_path: Path, servers: dict[str, Any], *options: str) -> Result:
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return CliRunner().invoke(
        command, ["list", "--servers", str(path), *options], standalone_mode=False, catch_exceptions=False
    )


def test_tools_are_listed_with_what_their_servers_say_of_them(tmp_path: Path) -> None:
    """One line each."""
    run = tools(tmp_path, {"weather": WEATHER})
    assert run.return_value == 0
    head, forecast, reset, _ = run.stdout.splitlines()
    assert head.split() == ["tool", "says", "that", "it"]
    cells = [cell.strip() for cell in forecast.split("  ") if cell]
    assert cells == ["weather__forecast", "reads only, may be repeated", "The weather of the next days."]
    assert reset.startswith("weather__station_reset  may destroy")


def test_as_json_it_is_the_list_that_requests_take(tmp_path: Path) -> None:
    """Of all servers, under the names of each."""
    run = tools(tmp_path, {"weather": WEATHER, "far-away": WEATHER}, "--json")
    names = [tool["function"]["name"] for tool in json.loads(run.stdout)]
    assert names[::3] == ["weather__forecast", "far-away__forecast"]


def test_a_server_that_fails_is_told_of_beside_the_others(tmp_path: Path) -> None:
    """And the exit code says so."""
    run = tools(tmp_path, {"gone": {"command": "/bin/false"}, "weather": WEATHER})
    assert run.return_value == 1
    assert "weather__forecast" in run.stdout
    assert run.stderr.startswith("tokenmill: gone: ")


def test_the_file_may_stand_in_the_configuration(tmp_path: Path) -> None:
    """As for the process that runs tools."""
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"weather": WEATHER}}))
    config = tmp_path / "t.toml"
    config.write_text(f'[tools]\nservers_file = "{tmp_path / "servers.json"}"\n')
    run = CliRunner().invoke(command, ["list", "--config", str(config)], catch_exceptions=False)
    assert "weather__forecast" in run.stdout


@pytest.mark.parametrize(
    ("text", "says"), [("", "name a file with mcpServers"), ("[tools]\nservers_file = '/no'", "can't be read")]
)
def test_without_a_file_it_says_what_to_give(tmp_path: Path, text: str, says: str) -> None:
    """The option, or the setting."""
    config = tmp_path / "t.toml"
    config.write_text(text)
    with pytest.raises(ConfigError, match=says):
        CliRunner().invoke(command, ["list", "--config", str(config)], standalone_mode=False, catch_exceptions=False)
