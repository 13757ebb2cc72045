"""`tokenmill codecs`."""

import click

from tokenmill.codecs import CODECS
from tokenmill.commands.samples import choose, print_records, print_title
from tokenmill.terminal.console import Terminal


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
def command(names: tuple[str, ...]) -> None:
    """List the codecs of input records, with a sample of each.

    A sample is the records of one short message, one per line.
    """
    console = Terminal()
    for codec in choose(CODECS, names):
        print_title(console, codec.name, codec.summary)
        print_records(console, codec.sample)
