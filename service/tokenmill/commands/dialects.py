"""`tokenmill dialects`."""

from collections.abc import Iterator

import click

from tokenmill.commands.samples import choose, print_source, print_title
from tokenmill.dialects import DIALECTS, Dialect, Envelope
from tokenmill.formats import compile_grammar, find_format
from tokenmill.parser import MessageParser, Options
from tokenmill.terminal.console import Terminal

TIME_MS = 1_760_000_000_000
"""A fixed time, so that the samples never change."""


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
def command(names: tuple[str, ...]) -> None:
    """List the dialects of events, with a sample of each.

    A sample is the same short answer in all of them, one payload per line.
    """
    console = Terminal()
    for dialect in choose(DIALECTS, names):
        print_title(console, dialect.name, dialect.summary)
        print_source(console, "\n".join(payload.decode() for payload in _sample(dialect)))


def _sample(dialect: Dialect) -> Iterator[bytes]:
    grammar = compile_grammar(Options(format="hermes"))
    parser = MessageParser.of(grammar, "sample")
    envelope = Envelope("c1", "m1", 0, TIME_MS, grammar.message_start)
    state = dialect.state_type() if dialect.state_type else None
    for seq, event in enumerate(parser.feed(find_format("hermes").sample) + parser.finish()):
        yield from dialect.encode(state, envelope, event, seq, TIME_MS)
