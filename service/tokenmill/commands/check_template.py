"""Output of `tokenmill formats --check-template`: the formats that read back what a model's own template writes."""

from pathlib import Path

import click
import msgspec
from rich.console import Console

from tokenmill.commands.samples import print_source
from tokenmill.templates.check import Report, Verdict, check_template
from tokenmill.templates.rendering import CannotRender, read_template
from tokenmill.terminal.console import echo
from tokenmill.terminal.progress import progress_bar
from tokenmill.terminal.visible import visible

_SHOWN = 3
"""Formats whose misses are shown if none reads all."""


def check(path: Path, console: Console, *, as_json: bool) -> bool:
    """Try the template of a file and print the results; return whether a format reads all.

    Raises `click.ClickException` if the template can't be tried.
    """
    try:
        with progress_bar() as bar:
            report = check_template(read_template(path).text, bar.at)
    except CannotRender as problem:
        raise click.ClickException(str(problem)) from None
    if as_json:
        echo(msgspec.json.encode(report))
    else:
        _print(console, report)
    return report.complete


def _print(console: Console, report: Report) -> None:
    console.print("The model writes, by this template:", soft_wrap=True)
    print_source(console, visible(report.sample))
    if report.arguments == "text":
        console.print("It takes arguments as JSON in a string.", soft_wrap=True)
    for name, why in report.unrendered.items():
        console.print(visible(f"It does not render {name!r}: {why}"), soft_wrap=True, markup=False)
    complete = [verdict for verdict in report.verdicts if verdict.read == verdict.of]
    for verdict in complete:
        _say(console, verdict, f"reads all {verdict.of}")
    if not complete:
        console.print("No format reads all of it.")
    for verdict in () if complete else report.verdicts[:_SHOWN]:
        _say(console, verdict, f"reads {verdict.read} of {verdict.of}; not")
        for miss in verdict.misses:
            console.print(visible(f"  {miss.probe}: {miss.reason}"), soft_wrap=True, markup=False, highlight=False)


def _say(console: Console, verdict: Verdict, what: str) -> None:
    console.print(verdict.format, style="bold", end="  ")
    option = f', with start = "{verdict.start}"' if verdict.start else ""
    console.print(f"{what}{option}", soft_wrap=True, markup=False, highlight=False)
