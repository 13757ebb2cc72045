"""`tokenmill worker`."""

import click

from tokenmill.commands.settings import kafka_options
from tokenmill.config import Config
from tokenmill.worker.host import run_worker


@click.command()
@kafka_options
def command(*, config: Config) -> int:
    """Run the service: read tokens, publish events, until SIGTERM or Ctrl-C.

    `/metrics`, `/healthz` and `/readyz` are served on `worker.port`. The exit code is 1 if it can't continue; a
    supervisor then restarts it, and it resumes where it was.
    """
    return run_worker(config)
