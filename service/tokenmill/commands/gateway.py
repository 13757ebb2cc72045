"""`tokenmill gateway`."""

import click

from tokenmill.commands.settings import kafka_options
from tokenmill.config import Config
from tokenmill.gateway.host import nothing_beside, run_gateway
from tokenmill.inspector.host import beside_gateway


@click.command()
@kafka_options
def command(*, config: Config) -> int:
    """Serve events over HTTP, with streams that resume where they were cut, until SIGTERM or Ctrl-C.

    Clients connect to `gateway.port`; `/metrics`, `/healthz` and `/readyz` are served on `gateway.ops_port`. The exit
    code is 1 if it can't continue; a supervisor then restarts it, and clients resume where they were.
    """
    return run_gateway(config, beside_gateway if config.gateway.inspect else nothing_beside)
