"""`tokenmill caller`."""

import click

from tokenmill.commands.settings import kafka_options
from tokenmill.config import Config
from tokenmill.front.host import run_caller


@click.command()
@kafka_options
def command(*, config: Config) -> int:
    """Call the model servers for fronts that run with --no-caller, until SIGTERM or Ctrl-C.

    Several processes share the partitions of `topics.requests`; if one is lost, another takes over. `/metrics`,
    `/healthz` and `/readyz` are served on `caller.port`. The exit code is 1 if it can't continue: start it again.
    """
    return run_caller(config)
