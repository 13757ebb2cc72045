"""Print samples of codecs, formats and dialects: with rules and colour where a person looks, else plain lines."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

import click
from rich.console import Console

from tokenmill.records import InputRecord


class Named(Protocol):
    """A codec, format or dialect."""

    @property
    def name(self) -> str: ...


AnyNamed = TypeVar("AnyNamed", bound=Named)


def choose(known: Iterable[AnyNamed], names: Sequence[str]) -> list[AnyNamed]:
    """Those of these names, or all if none is given. Raises `click.BadParameter` for a name that does not exist."""
    by_name = {one.name.lower(): one for one in known}
    for name in names:
        if name.lower() not in by_name:
            names_known = ", ".join(one.name for one in by_name.values())
            raise click.BadParameter(f"{name!r}; known are {names_known}", param_hint="NAME")
    return [by_name[name.lower()] for name in names or by_name]


def print_title(console: Console, name: str, summary: str) -> None:
    """The head of one sample."""
    console.print(name, style="bold", end="  ")
    console.print(summary, soft_wrap=True)


def print_source(console: Console, text: str) -> None:
    """Text as it is, each line indented."""
    console.print()
    for line in text.splitlines():
        console.print(f"  {line}", style="dim", soft_wrap=True)
    console.print()


def print_records(console: Console, records: Sequence[InputRecord]) -> None:
    """Values of records, one line each, with their headers if they have any."""
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
