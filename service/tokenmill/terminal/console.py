"""The console for everything that is printed for people."""

import sys
from typing import Any

import click
from rich.console import Console

from tokenmill.terminal.visible import visible


class Terminal(Console):
    """Prints text unchanged: numbers are not coloured, `:words:` do not become pictures, nor brackets styles.

    Colours and drawings appear only on a terminal. A reader that goes away is left to the caller.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "emoji": False, "markup": False, **options})

    def on_broken_pipe(self) -> None:
        """Raise `BrokenPipeError`, as any other write does, instead of ending the process."""
        raise BrokenPipeError


def watched(console: Console) -> bool:
    """Whether the console is a terminal that can be redrawn; `FORCE_COLOR` is only about colours."""
    return console.file.isatty() and not console.is_dumb_terminal


def echo(said: str | bytes) -> None:
    """Print JSON, a record or a prompt unchanged; on a terminal, name the characters that it would interpret."""
    if sys.stdout.isatty():
        said = visible(said if isinstance(said, str) else said.decode(errors="replace"))
    click.echo(said)
