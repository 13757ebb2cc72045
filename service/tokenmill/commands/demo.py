"""`tokenmill demo`."""

import click

from tokenmill.demo.run import run_demo
from tokenmill.terminal.console import Terminal


@click.command()
def command() -> None:
    """The whole flow on this machine, with nothing installed.

    Starts an embedded broker, an embedded Redis and a worker, publishes sample conversations in every format, shows
    their events as they come, and ends with the counts. Everything is removed again.
    """
    run_demo(Terminal())
