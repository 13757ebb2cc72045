"""The console that everything for people is printed to."""

import sys
from typing import Any

import click
from rich.console import Console

from tokenmill.terminal.visible import visible


class Terminal(Console):
    """Prints what it is given: no numbers are coloured, no `:words:` become pictures, no brackets become styles.

    Colours and drawings appear only where a person looks. A reader that goes away is the caller's business.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "emoji": False, "markup": False, **options})

    def on_broken_pipe(self) -> None:
        """Instead of ending the process here: `BrokenPipeError`, as from any other write."""
        raise BrokenPipeError


def watched(console: Console) -> bool:
    """Whether somebody sees what is drawn there anew and anew; `FORCE_COLOR` speaks of colours alone."""
    return console.file.isatty() and not console.is_dumb_terminal


def echo(said: str | bytes) -> None:
    """Print JSON, a record or a prompt: as it is, but for a terminal with names in place of what that would obey."""
    if sys.stdout.isatty():
        said = visible(said if isinstance(said, str) else said.decode(errors="replace"))
    click.echo(said)
