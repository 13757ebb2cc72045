"""`tokenmill tools list`, with real servers."""

import json
import sys
from pathlib import Path
from typing import Any

import click
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
    head, forecast, reset, *_ = run.stdout.splitlines()
    assert head.split() == ["tool", "hints", "description"]
    cells = [cell.strip() for cell in forecast.split("  ") if cell]
    assert cells == ["weather__forecast", "reads only, may be repeated", "The weather of the next days."]
    assert reset.startswith("weather__station_reset  may destroy")


def test_as_json_it_is_the_list_that_requests_take(tmp_path: Path) -> None:
    """Of all servers, under the names of each."""
    run = tools(tmp_path, {"weather": WEATHER, "far-away": WEATHER}, "--json")
    names = [tool["function"]["name"] for tool in json.loads(run.stdout)]
    assert [name for name in names if "forecast" in name] == ["weather__forecast", "far-away__forecast"]


def test_a_template_writes_them_into_a_prompt(tmp_path: Path) -> None:
    """In the words that the model was trained on."""
    template = tmp_path / "t.jinja"
    template.write_text("{% for tool in tools %}<{{ tool.function.name }}>{% endfor %}{{ messages[0].content }}")
    run = tools(tmp_path, {"weather": WEATHER}, "--template", str(template))
    assert run.stdout.startswith("<weather__forecast><weather__station_reset><")
    template.write_text("{% for")
    with pytest.raises(click.ClickException, match="does not render"):
        tools(tmp_path, {"weather": WEATHER}, "--template", str(template))
    with pytest.raises(click.UsageError, match="give one of them"):
        tools(tmp_path, {"weather": WEATHER}, "--template", str(template), "--json")


def test_a_server_that_fails_is_told_of_beside_the_others(tmp_path: Path) -> None:
    """And the exit code says so."""
    run = tools(tmp_path, {"gone": {"command": "/bin/false"}, "weather": WEATHER})
    assert run.return_value == 1
    assert "weather__forecast" in run.stdout
    assert "gone ended by itself, with the exit code 1\n" in run.stderr
    assert "\ntokenmill: gone (command '/bin/false'): " in run.stderr


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


def called(tmp_path: Path, name: str, *arguments: str) -> Result:
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": {"weather": WEATHER}}))
    words = ["call", "--servers", str(path), name, *arguments]
    return CliRunner().invoke(command, words, standalone_mode=False)


def test_a_tool_is_called_and_its_result_printed(tmp_path: Path) -> None:
    """As JSON; the exit code says whether there is one."""
    run = called(tmp_path, "weather__forecast", '{"city": "Rome"}')
    assert json.loads(run.stdout)["result"]["structuredContent"] == {"result": "Rome: sun for 1 days"}
    assert run.return_value == 0


def test_a_call_that_does_not_fit_is_not_made(tmp_path: Path) -> None:
    """The tool would have written the file."""
    ledger = tmp_path / "ledger"
    run = called(tmp_path, "weather__wait", json.dumps({"seconds": "soon", "ledger": str(ledger)}))
    assert json.loads(run.stdout)["code"] == "schema-mismatch"
    assert run.return_value == 1
    assert not ledger.exists()


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("forecast", "{}", "no server has the tool"),
        ("weather__forecast", "[]", "expected a JSON object"),
        ("weather__forecast", '{"a":' + "[" * 9_000 + "]" * 9_000 + "}", "expected a JSON object"),
    ],
    ids=["unknown", "list", "deep"],
)
def test_what_is_no_call_is_said_so(tmp_path: Path, name: str, arguments: str, says: str) -> None:
    """Before any server is started."""
    problem = called(tmp_path, name, arguments).exception
    assert isinstance(problem, click.BadParameter)
    assert says in problem.message


@pytest.mark.parametrize("servers", [{}, {"weather": WEATHER | {"disabled": True}}])
def test_a_file_without_servers_is_said_so(tmp_path: Path, servers: dict[str, Any]) -> None:
    """As is everything that is wrong with it, with its name."""
    with pytest.raises(ConfigError, match=r"servers\.json: it has no server"):
        tools(tmp_path, servers)
    with pytest.raises(ConfigError, match=r"servers\.json: mcpServers\.a: expected a command or a url$"):
        tools(tmp_path, {"a": {}})
