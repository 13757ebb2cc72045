"""What all commands of `tokenmill bench` share: their options and output."""

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click
import msgspec
from rich.console import Console

from tokenmill.bench.conditions import conditions
from tokenmill.bench.summary import Summary
from tokenmill.commands.settings import quiet_kafka
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.tables import print_table

Option = TypeVar("Option", bound=Callable[..., object])

Measured: TypeAlias = tuple[Summary, msgspec.Struct, Mapping[str, object]]
"""Results for people, all figures, and figures derived from them."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON object.")

bootstrap = click.option(
    "--bootstrap", metavar="HOST:PORT", help="A Kafka to use; by default one is started (java and mvn needed)."
)


before = click.option(
    "--before",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A checkout of another version, whose worker is measured, too.",
)


def page_option(page: str) -> Callable[[Option], Option]:
    """Return the option that writes a page of the documentation."""
    return click.option(
        "--write",
        "target",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        help=f"Also write the documentation page, here docs/topics/{page}.md.",
    )


def rounds_option(default: int = 3) -> Callable[[Option], Option]:
    """Return the option for the number of rounds."""
    return click.option(
        "--rounds", type=click.IntRange(1), default=default, show_default=True, help="Of these the median counts."
    )


def measured(page: str) -> Callable[[Callable[..., Measured]], Callable[..., None]]:
    """Return a decorator for a function that measures: it adds options for the output, and prints the results.

    `page` is the one of the documentation that has them.
    """

    def decorated(measure: Callable[..., Measured]) -> Callable[..., None]:
        @wraps(measure)
        def run(*, target: Path | None, as_json: bool, **options: Any) -> None:
            quiet_kafka()
            summary, report, derived = measure(**options)
            tell(summary, report, derived, target=target, as_json=as_json)

        return page_option(page)(as_json(run))

    return decorated


def tell(
    summary: Summary, report: msgspec.Struct, derived: Mapping[str, object], *, target: Path | None, as_json: bool
) -> None:
    """Print the results, for people or as JSON; `target` is the page to write, if any."""
    if target is not None:
        target.write_text(summary.page(conditions()), encoding="utf-8")
    print_json(report, **derived) if as_json else _print_summary(summary)


def print_json(report: msgspec.Struct, **derived: object) -> None:
    """Print all figures, the derived ones and what they depend on, as one object."""
    results = {**msgspec.to_builtins(report), **derived, "conditions": conditions()}
    click.echo(msgspec.json.format(msgspec.json.encode(results)))


def print_conditions(console: Console) -> None:
    """Print what the figures depend on."""
    console.print("  ".join(f"{name} {value}" for name, value in conditions().items()), style="dim", soft_wrap=True)


def _print_summary(summary: Summary) -> None:
    console = Terminal()
    for table in summary.tables:
        print_table(console, table.columns, table.rows, right=len(table.columns) - table.texts)
    for finding in summary.findings:
        console.print(str(finding), style="bold" if finding.budget else "", soft_wrap=True)
    print_conditions(console)
