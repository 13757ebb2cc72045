"""Print samples of codecs, formats and dialects: with colour on a terminal, otherwise as plain lines."""

from collections.abc import Sequence
from typing import TypeVar

import click
from rich.console import Console

from tokenmill.records import InputRecord
from tokenmill.registry import Named, Registry

AnyNamed = TypeVar("AnyNamed", bound=Named)


def choose(known: Registry[AnyNamed], names: Sequence[str]) -> list[AnyNamed]:
    """Return those with these names or aliases, by default all. Raises `click.BadParameter` for an unknown one."""
    return [_named(known, name) for name in names] if names else list(known)


def _named(known: Registry[AnyNamed], name: str) -> AnyNamed:
    one = known.find(name)
    if one is None:
        raise click.BadParameter(f"{name!r}; {known.instead_of(name)}", param_hint="NAME")
    return one


def print_title(console: Console, name: str, summary: str) -> None:
    """Print the heading of one sample."""
    console.print(name, style="bold", end="  ")
    console.print(summary, soft_wrap=True)


def print_source(console: Console, text: str) -> None:
    """Print text unchanged, each line indented."""
    console.print()
    for line in text.splitlines():
        console.print(f"  {line}", style="dim", soft_wrap=True)
    console.print()


def print_records(console: Console, records: Sequence[InputRecord]) -> None:
    """Print the values of records, one per line, with their headers if they have any."""
    lines = [
        (repr(record.value) if record.value is None or not _is_text(record.value) else record.value.decode())
        + "".join(f"  [{name}: {value.decode()}]" for name, value in record.headers)
        for record in records
    ]
    print_source(console, "\n".join(lines))


def _is_text(value: bytes) -> bool:
    try:
        return value.decode().isprintable()
    except UnicodeDecodeError:
        return False
