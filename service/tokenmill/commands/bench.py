"""`tokenmill bench`."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median

import click
import msgspec
from rich.console import Console

from tokenmill.bench.agent import StreamingCost, run_agent
from tokenmill.bench.dialects import DialectCost, run_dialects
from tokenmill.bench.latency import Latency
from tokenmill.bench.page import page
from tokenmill.bench.parser import Line, Report, run_parser
from tokenmill.bench.pipeline import Pipeline, run_pipeline
from tokenmill.bench.stand import SIDES, WORKER
from tokenmill.bench.throughput import Run
from tokenmill.commands.settings import quiet_kafka
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.tables import print_table

PACKAGES = ("tokenmill", "aiokafka", "msgspec", "redis", "uvloop")
"""Their versions are part of a result."""

BUSY = 0.9
"""A process that uses more than this of one processor has nothing left to give."""


@click.group()
def command() -> None:
    """Measure the parser, or a whole worker, beside a reference.

    Machines differ and are shared, so what counts is the ratio to a reference that runs in turns with it.
    """


as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON object.")


@command.command("parser")
@click.option("--rounds", type=click.IntRange(1), default=15, show_default=True, help="Of these the median counts.")
@click.option(
    "--write",
    "target",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Also write the page of the documentation, here docs/topics/benchmarks.md.",
)
@as_json
def parser(*, rounds: int, target: Path | None, as_json: bool) -> None:
    """Parse running text and tool calls of a thousand to a million characters, in chunks of four characters.

    There is a call in each grammar of the formats; and of every dialect, what it takes to write an event of an agent's
    turn. The reference, a loop: `str.find` of a marker's first character and an append for each chunk.
    """
    report = run_parser(rounds=rounds, progress=_progress)
    cost = run_agent(rounds=rounds, progress=_progress)
    dialects = run_dialects(rounds=rounds, progress=_progress)
    if target is not None:
        target.write_text(page(report, conditions()), encoding="utf-8")
    if as_json:
        ratios = {line.name: line.ratio for line in dialects}
        _print_json(report, agent_off=cost.off, agent_on=cost.on, dialects=ratios)
    else:
        _print_parser(report, cost)
        _print_dialects(dialects)


@command.command("pipeline")
@click.option("--bootstrap", metavar="HOST:PORT", help="A Kafka to use; else one is started (java and mvn needed).")
@click.option("--records", type=click.IntRange(100_000), default=600_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Of these the median counts.")
@click.option("--latency", is_flag=True, help="Also measure the latency, at half of the worker's rate.")
@as_json
def pipeline(*, bootstrap: str | None, records: int, rounds: int, latency: bool, as_json: bool) -> None:
    """Run a worker over a preloaded topic on a real Kafka, snapshots to a real Redis.

    The reference, a pass-through: consume, one record of the mean event size per input in record batches, commits at
    the same interval.
    """
    quiet_kafka()
    report = run_pipeline(bootstrap=bootstrap, records=records, rounds=rounds, latency=latency, progress=_progress)
    _print_json(report, ratio=report.ratio) if as_json else _print_pipeline(report)


def _progress(sentence: str) -> None:
    click.echo(sentence, err=True)


def conditions() -> dict[str, str]:
    """What the figures depend on besides the code."""
    return {
        "python": platform.python_version(),
        "processor": processor(),
        **{package: version(package) for package in PACKAGES},
    }


def processor() -> str:
    """The processor by its maker's name where the system tells it, else its architecture."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.exists() else []
    names = (value.strip() for key, _, value in (line.partition(":") for line in lines) if key.strip() == "model name")
    return next(names, platform.machine())


def _print_json(report: msgspec.Struct, **derived: object) -> None:
    results = {**msgspec.to_builtins(report), **derived, "conditions": conditions()}
    click.echo(msgspec.json.format(msgspec.json.encode(results)))


def _print_conditions(console: Console) -> None:
    console.print("  ".join(f"{name} {value}" for name, value in conditions().items()), style="dim", soft_wrap=True)


def _print_parser(report: Report, cost: StreamingCost) -> None:
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
    console.print(
        f"calls streamed to an agent's page: {cost.off:.2f} of the time without while off, {cost.on:.2f} while on",
        soft_wrap=True,
    )


def _print_dialects(lines: Sequence[DialectCost]) -> None:
    console = Terminal()
    rows = [(line.name, f"{line.loop_us:.3f}", f"{line.dialect_us:.3f}", f"{line.ratio:.1f}") for line in lines]
    print_table(console, ("µs per event, by dialect", "loop", "dialect", "ratio"), rows, right=3)
    _print_conditions(console)


def _parser_row(line: Line) -> tuple[str, ...]:
    microseconds = f"{line.loop_us:.3f}", f"{line.parser_us:.3f}"
    return line.grammar, line.text, f"{line.chars:,}", *microseconds, f"{line.ratio:.1f}", f"{line.slowest_us:.0f}"


def _print_pipeline(report: Pipeline) -> None:
    console = Terminal()
    rounds = [f"run {number + 1}" for number in range(len(report.runs[SIDES[0]]))]
    columns = ("records per second", *rounds, "median", "processor time of one")
    print_table(console, columns, [_pipeline_row(report, side) for side in SIDES], right=len(rounds) + 2)
    console.print(f"the worker reaches {report.ratio:.2f} of the pass-through", style="bold")
    console.print(_limit(report.runs[WORKER][-1]), soft_wrap=True)
    if report.latencies:
        _print_latencies(console, report.latencies)
    shape = report.shape
    console.print(
        f"{report.load.records:,} records on {report.partitions} partitions, {shape.outputs_per_record:.2f} outputs of "
        f"{shape.mean_output_bytes:.0f} bytes for each, a commit every {report.commit_interval_ms} ms",
        soft_wrap=True,
    )
    _print_conditions(console)


def _pipeline_row(report: Pipeline, side: str) -> tuple[str, ...]:
    rates = [run.records_per_s for run in report.runs[side]]
    microseconds = report.processor_us(side)
    used = "unknown" if microseconds is None else f"{microseconds:.1f} µs"
    return side, *(f"{rate:,.0f}" for rate in [*rates, report.rate(side)]), used


def _print_latencies(console: Terminal, latencies: dict[str, list[Latency]]) -> None:
    rate = latencies[WORKER][0].records_per_s
    rows = [
        (side, *(f"{median(getattr(run, field) for run in latencies[side]):.0f} ms" for field in ("p50_ms", "p99_ms")))
        for side in SIDES
    ]
    print_table(console, (f"from input to output, {rate:,.0f} records per second", "p50", "p99"), rows, right=2)


def _limit(run: Run) -> str:
    if run.processor is None:
        return "what limits it: unknown, this system does not tell processor times"
    said = f"processors busy: {run.processor:.2f} with the worker"
    if run.broker_processor is not None:
        said += f", {run.broker_processor:.2f} with the broker"
    return said + ("; its one event loop is the limit" if run.processor > BUSY else "")
