"""`tokenmill bench parser`."""

from collections.abc import Sequence
from pathlib import Path

import click

from tokenmill.bench.conditions import conditions
from tokenmill.bench.dialects import DialectCost, run_dialects
from tokenmill.bench.page import page
from tokenmill.bench.parser import SIZES, Line, Report, run_parser, subjects
from tokenmill.commands.bench_summary import as_json, page_option, print_conditions, print_json, rounds_option
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.progress import steps
from tokenmill.terminal.tables import print_table


@click.command("parser")
@rounds_option(15)
@page_option("benchmarks")
@as_json
def parser(*, rounds: int, target: Path | None, as_json: bool) -> None:
    """Parse running text and tool calls of a thousand to a million characters, in chunks of four characters.

    Includes a call in each grammar of the formats, and for every dialect the time to write an event of an agent's turn.
    The reference, a loop: `str.find` of a marker's first character and an append for each chunk.
    """
    with steps(len(subjects()) * len(SIZES) + 2) as progress:
        report = run_parser(rounds=rounds, progress=progress)
        dialects = run_dialects(rounds=rounds, progress=progress)
    if target is not None:
        target.write_text(page(report, conditions()), encoding="utf-8")
    if as_json:
        ratios = {line.name: line.ratio for line in dialects}
        print_json(report, dialects=ratios)
    else:
        _print_parser(report)
        _print_dialects(dialects)


def _print_parser(report: Report) -> None:
    console = Terminal()
    columns = ("grammar", "text", "characters", "loop, µs", "parser, µs", "ratio", "slowest chunk")
    print_table(console, columns, [_parser_row(line) for line in report.lines], right=5)
    for footprint in report.memory:
        console.print(f"a message that is {footprint.what}: {footprint.bytes_per_message:,.0f} bytes", soft_wrap=True)
    for growth in report.growth:
        told = (
            f"total time, {growth.grammar}, {growth.text}: grows with the length to the power of {growth.exponent:.2f}"
        )
        console.print(told, soft_wrap=True)


def _print_dialects(lines: Sequence[DialectCost]) -> None:
    console = Terminal()
    rows = [(line.name, f"{line.loop_us:.3f}", f"{line.dialect_us:.3f}", f"{line.ratio:.1f}") for line in lines]
    print_table(console, ("µs per event, by dialect", "loop", "dialect", "ratio"), rows, right=3)
    print_conditions(console)


def _parser_row(line: Line) -> tuple[str, ...]:
    microseconds = f"{line.loop_us:.3f}", f"{line.parser_us:.3f}"
    return line.grammar, line.text, f"{line.chars:,}", *microseconds, f"{line.ratio:.1f}", f"{line.slowest_us:.0f}"
