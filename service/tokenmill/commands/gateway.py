"""`tokenmill gateway`."""

from pathlib import Path

import click

from tokenmill.commands.settings import configuration, kafka_options
from tokenmill.gateway.host import nothing_beside, run_gateway
from tokenmill.inspector.host import beside_gateway


@click.command()
@kafka_options
def command(*, config_path: Path | None, bootstrap: str | None) -> int:
    """Serve events over HTTP, with streams that resume where they were cut, until SIGTERM or Ctrl-C.

    Clients connect to `gateway.port`; `/metrics`, `/healthz` and `/readyz` are served on `gateway.ops_port`. The exit
    code is 1 if it can't continue; a supervisor then restarts it, and clients resume where they were.
    """
    config = configuration(config_path, bootstrap)
    return run_gateway(config, beside_gateway if config.gateway.inspect else nothing_beside)
