"""What commands share."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tokenmill.commands.settings import config_option, configuration, kafka_options, opening
from tokenmill.config import Config
from tokenmill.errors import BadOpen, ConfigError


def test_options_of_a_message_come_from_three_places(tmp_path: Path) -> None:
    """Values of `--open` may be JSON; several formats are separated by commas."""
    tools = tmp_path / "tools.json"
    tools.write_text('[{"type": "function", "function": {"name": "f"}}]')
    assert opening("hermes,qwen3_xml", tools, ["min_delta_chars=3", "model=m 1", "parse=tools"]) == {
        "format": ["hermes", "qwen3_xml"],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "min_delta_chars": 3,
        "model": "m 1",
        "parse": "tools",
    }
    assert opening(None, None, []) == {}


def test_tools_may_begin_with_a_mark_of_byte_order(tmp_path: Path) -> None:
    """Some editors write one."""
    tools = tmp_path / "tools.json"
    tools.write_text("[]", encoding="utf-8-sig")
    assert opening(None, tools, []) == {"tools": []}


def test_a_wrong_option_is_refused_by_name() -> None:
    """Before anything is published or parsed."""
    with pytest.raises(BadOpen, match="unknown option 'nonsense'"):
        opening(None, None, ["nonsense=1"])
    with pytest.raises(click.BadParameter, match="not KEY=VALUE"):
        opening(None, None, ["nonsense"])


def test_tools_that_are_no_json_are_refused(tmp_path: Path) -> None:
    """The message names the file."""
    tools = tmp_path / "tools.json"
    tools.write_text("[")
    with pytest.raises(click.BadParameter, match=r"tools\.json is not JSON"):
        opening(None, tools, [])


@pytest.mark.parametrize("text", [b"[" * 5_000 + b"]" * 5_000, b"\xff"], ids=["deep", "no text"])
def test_tools_that_can_not_be_read_are_refused(tmp_path: Path, text: bytes) -> None:
    """Nested deeper than the stack bears, or not UTF-8."""
    tools = tmp_path / "tools.json"
    tools.write_bytes(text)
    with pytest.raises(click.BadParameter, match=r"tools\.json is not JSON"):
        opening(None, tools, [])


def test_a_value_that_can_not_be_read_is_refused() -> None:
    """Nested deeper than the stack bears; or bytes that are no text, which no event could say."""
    for value in ("[" * 5_000 + "]" * 5_000, "\udcff"):
        with pytest.raises(click.BadParameter, match=r"--open|'model"):
            opening(None, None, [f"model={value}"])


def test_options_that_no_record_can_hold_are_refused(tmp_path: Path) -> None:
    """Numbers of more than 64 bits, wherever they stand; and bytes that are no text."""
    tools = tmp_path / "tools.json"
    tools.write_text(f'[{{"type":"function","function":{{"name":"f","parameters":{{"maximum":{2**70}}}}}}}]')
    for given in ((None, tools, ()), (None, None, (f"min_delta_chars={2**70}",)), ("\udcff", None, ())):
        with pytest.raises(BadOpen, match="the options hold "):
            opening(*given)


def test_another_kafka_is_an_address_too() -> None:
    """As in a file."""
    for address in ("broker", "[[", "a:65536", f"{'a' * 64}:1"):
        with pytest.raises(ConfigError, match=r"kafka\.bootstrap_servers: must be host:port"):
            configuration(None, address)


def test_another_kafka_goes_over_the_configured_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File, then environment, then the command line."""
    path = tmp_path / "t.toml"
    path.write_text('[kafka]\nbootstrap_servers = "a:1"\ngroup_id = "g"\n')
    assert configuration(path).kafka.bootstrap_servers == "a:1"
    monkeypatch.setenv("TOKENMILL_KAFKA__BOOTSTRAP_SERVERS", "b:1")
    assert configuration(path).kafka.bootstrap_servers == "b:1"
    assert configuration(path, "c:1").kafka.bootstrap_servers == "c:1"
    assert configuration(path, "c:1").kafka.group_id == "g"


def test_wrong_settings_are_refused(tmp_path: Path) -> None:
    """As the worker would."""
    path = tmp_path / "t.toml"
    path.write_text("[nonsense]\n")
    with pytest.raises(ConfigError, match="nonsense"):
        configuration(path)


def test_a_command_is_given_its_configuration(tmp_path: Path) -> None:
    """That of the file, with the other Kafka where the command has an option for it."""
    path = tmp_path / "tokenmill.toml"
    path.write_text('[kafka]\nbootstrap_servers = "a:1"\ngroup_id = "g"\n')

    def command(*, config: Config) -> None:
        click.echo(f"{config.kafka.bootstrap_servers} {config.kafka.group_id}")

    for options, given, said in (
        (config_option, (), "a:1 g\n"),
        (kafka_options, (), "a:1 g\n"),
        (kafka_options, ("--bootstrap", "b:2"), "b:2 g\n"),
    ):
        found = CliRunner().invoke(click.command()(options(command)), ["--config", str(path), *given])
        assert (found.output, found.exit_code) == (said, 0)
