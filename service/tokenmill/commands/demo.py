"""`tokenmill demo`."""

import click

from tokenmill.client.terminal import Terminal
from tokenmill.demo.run import run_demo


@click.command()
def command() -> None:
    """The whole flow on this machine, with nothing installed.

    Starts an embedded broker, an embedded Redis and a worker, publishes sample conversations in every format, shows
    their events as they come, and ends with the counts. Everything is removed again.
    """
    run_demo(Terminal())
