"""`tokenmill demo`."""

import click

from tokenmill.demo.front import run_front_demo
from tokenmill.demo.run import run_demo
from tokenmill.terminal.console import Terminal


@click.command()
@click.option("--front", is_flag=True, help="Show the front instead: clients' APIs in front of a model server.")
@click.option("--keep", is_flag=True, help="Stay until Ctrl-C, with an address at which an answer can be read.")
def command(*, front: bool, keep: bool) -> None:
    """The whole flow on this machine, with nothing installed.

    Starts an embedded broker, an embedded Redis, a worker, a gateway and a runner of tools, publishes sample
    conversations in every format, shows their events as they come, reads them over HTTP, has a tool run, and ends with
    the counts. Everything is removed again.
    """
    if front:
        run_front_demo(Terminal(), keep=keep)
    else:
        run_demo(Terminal(), keep=keep)
