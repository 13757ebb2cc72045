"""`tokenmill front`."""

from pathlib import Path

import click

from tokenmill.commands.settings import configuration, kafka_options
from tokenmill.front.host import run_front


@click.command()
@click.option("--no-caller", is_flag=True, help="Others call the model servers: `tokenmill caller`.")
@kafka_options
def command(*, no_caller: bool, config_path: Path | None, bootstrap: str | None) -> int:
    """Serve the APIs of OpenAI and Anthropic before the model servers of `[[upstreams]]`, until SIGTERM or Ctrl-C.

    Clients come to `front.port`, with any SDK; `/metrics`, `/healthz` and `/readyz` are served on `front.ops_port`. The
    exit code is 1 when going on became impossible; a supervisor then starts it again, and answers go on.
    """
    return run_front(configuration(config_path, bootstrap), caller=not no_caller)
