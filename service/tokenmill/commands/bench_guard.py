"""`tokenmill bench guard`."""

import click

from tokenmill.bench.guard import KEPT, run_guard, write_guard
from tokenmill.bench.guard_summary import guard_sentence, guard_table
from tokenmill.commands.bench_summary import print_conditions, rounds_option
from tokenmill.commands.settings import quiet_kafka
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.progress import steps
from tokenmill.terminal.tables import print_table

FIGURES = 15
"""Approximate number of figures: the length of the progress bar."""


@click.command("guard")
@rounds_option(25)
@click.option("--kafka", is_flag=True, help="Also whole workers on a real Kafka, a minute (java and mvn needed).")
@click.option("--write", is_flag=True, help="Keep the figures, in a checkout, instead of judging them.")
def guard(*, rounds: int, kafka: bool, write: bool) -> None:
    """Compare the processor time of what every record passes through with the kept figures. Takes some seconds.

    The references: the loop of `bench parser`, a bare record, whose JSON is read and written again, and for whole
    workers a pass-through. Exits with 1 if something costs more than before.
    """
    quiet_kafka()
    with steps(FIGURES) as progress:
        found = (write_guard if write else run_guard)(rounds=rounds, kafka=kafka, progress=progress)
    console, table = Terminal(), guard_table(found)
    print_table(console, table.columns, table.rows, right=3)
    console.print(guard_sentence(found), soft_wrap=True)
    print_conditions(console)
    if write:
        console.print(f"written to {KEPT}", soft_wrap=True)
    elif problems := found.problems:
        raise click.ClickException("; ".join(problems))
