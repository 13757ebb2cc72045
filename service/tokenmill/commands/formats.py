"""`tokenmill formats`."""

import click

from tokenmill.commands.samples import choose, print_source, print_title
from tokenmill.demo.tools import TOOLS
from tokenmill.formats import REGISTRY, compile_grammar
from tokenmill.parser import Options, Parser
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.readable import EventPrinter


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
def command(names: tuple[str, ...]) -> None:
    """The formats models write in, with a sample of each and the events that come of it."""
    console = Terminal()
    for format_ in choose(REGISTRY, names):
        print_title(console, format_.name, format_.summary)
        print_source(console, format_.sample)
        parser = Parser.of(compile_grammar(Options(format=format_.name, tools=TOOLS)), "sample")
        printer = EventPrinter(console, live=False)
        for event in parser.feed(format_.sample) + parser.finish():
            printer.show(event)
        console.print()
