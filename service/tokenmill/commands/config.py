"""`tokenmill config`."""

import click
import msgspec
import tomli_w

from tokenmill.commands.settings import config_option
from tokenmill.config import Caller, Config, Front
from tokenmill.config.front_relations import NO_UPSTREAMS
from tokenmill.config.shown import shown


@click.group()
def command() -> None:
    """Check the configuration."""


@command.command("check")
@config_option
@click.option("--show", is_flag=True, help="Print every setting with its value, as TOML; secrets are masked.")
@click.option("--json", "as_json", is_flag=True, help="The same as one JSON object.")
def check(*, config: Config, show: bool, as_json: bool) -> None:
    """Read the configuration and report all problems; the exit code is 2 if there are any.

    Checks the file, the environment, and how the settings fit together; contacts neither broker nor Redis. Of the files
    that settings name it reads only those with secrets, not keys, certificates or templates.
    """
    if as_json:
        click.echo(msgspec.json.encode(shown(config)))
    elif show:
        click.echo(tomli_w.dumps(shown(config)), nl=False)
    click.echo("The configuration is sound.", err=show or as_json)
    if not config.upstreams and (config.front, config.caller) != (Front(), Caller()):
        click.echo(f"But {NO_UPSTREAMS}.", err=True)
