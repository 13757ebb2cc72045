"""`tokenmill config`."""

from pathlib import Path

import click
from rich.pretty import pprint

from tokenmill.commands.settings import config_option, configuration
from tokenmill.session import SessionSettings
from tokenmill.terminal.console import Terminal


@click.group()
def command() -> None:
    """Check the configuration."""


@command.command("check")
@config_option
@click.option("--show", is_flag=True, help="Also print every setting with its value; secrets are masked.")
def check(config_path: Path | None, *, show: bool) -> None:
    """Read the configuration and say every problem at once; the exit code is 2 if there is one.

    Looks at the file, the environment and at how the settings fit together; asks no broker and no Redis.
    """
    config = configuration(config_path)
    SessionSettings.from_config(config)
    if show:
        pprint(config, console=Terminal(), expand_all=True)
    click.echo("The configuration is sound.")
