"""`tokenmill worker`."""

from pathlib import Path

import click

from tokenmill.commands.settings import configuration, kafka_options
from tokenmill.worker.host import run_worker


@click.command()
@kafka_options
def command(*, config_path: Path | None, bootstrap: str | None) -> int:
    """Run the service: read tokens, publish events, until SIGTERM or Ctrl-C.

    `/metrics`, `/healthz` and `/readyz` are served on `worker.port`. The exit code is 1 when going on became
    impossible; a supervisor then starts it again, and it goes on where it was.
    """
    return run_worker(configuration(config_path, bootstrap))
