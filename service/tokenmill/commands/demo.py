"""`tokenmill demo`."""

import click

from tokenmill.demo.front import run_front_demo
from tokenmill.demo.run import run_demo
from tokenmill.terminal.console import Terminal


@click.command()
@click.option(
    "--front", is_flag=True, help="Show the front instead: the APIs of OpenAI and Anthropic in front of a model server."
)
@click.option("--keep", is_flag=True, help="Keep running until Ctrl-C, with an address at which an answer can be read.")
def command(*, front: bool, keep: bool) -> None:
    """Run the whole flow on this machine, with nothing installed.

    Starts an embedded broker, an embedded Redis, a worker, a gateway and a tool runner, publishes sample conversations
    in every format, shows their events as they come, reads them over HTTP, runs a tool, and ends with the counts.
    Everything is removed afterwards.
    """
    if front:
        run_front_demo(Terminal(), keep=keep)
    else:
        run_demo(Terminal(), keep=keep)
