"""`tokenmill bench`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import click
import msgspec
from rich.console import Console

from tokenmill.bench.agent import StreamingCost, run_agent
from tokenmill.bench.conditions import conditions
from tokenmill.bench.dialects import DialectCost, run_dialects
from tokenmill.bench.front import run_front_bench
from tokenmill.bench.front_report import LOADS as FRONT_LOADS
from tokenmill.bench.front_telling import front_telling
from tokenmill.bench.gateway import run_gateway_bench
from tokenmill.bench.gateway_report import LOADS as GATEWAY_LOADS
from tokenmill.bench.gateway_telling import gateway_telling
from tokenmill.bench.latencies import RATES, latency_sides, run_latencies
from tokenmill.bench.latencies_telling import latencies_telling
from tokenmill.bench.open_messages import STEPS, run_memory
from tokenmill.bench.open_messages_telling import memory_telling
from tokenmill.bench.page import page
from tokenmill.bench.parser import SIZES, Line, Report, run_parser, subjects
from tokenmill.bench.pipeline import run_pipeline, sides_of
from tokenmill.bench.pipeline_telling import pipeline_telling
from tokenmill.bench.recovery import run_recovery
from tokenmill.bench.recovery_telling import recovery_telling
from tokenmill.bench.stand import SIDES
from tokenmill.bench.telling import Telling
from tokenmill.commands.bench_guard import guard
from tokenmill.commands.settings import need_tools, quiet_kafka
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.progress import steps
from tokenmill.terminal.tables import print_table

Option = TypeVar("Option", bound=Callable[..., object])

DERIVED = ("worker_share", "exactly_once_share", "latency_ratio", "added_ms")
"""Of the pipeline's figures, those with a budget."""


@click.group()
def command() -> None:
    """Measure the parser, or a whole worker, beside a reference where there is one.

    Machines differ and are shared, so what counts is the ratio to a reference that runs in turns with it.
    """


as_json = click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON object.")

bootstrap = click.option(
    "--bootstrap", metavar="HOST:PORT", help="A Kafka to use; else one is started (java and mvn needed)."
)


before = click.option(
    "--before",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A checkout of another version, whose worker runs as well.",
)


def page_option(page: str) -> Callable[[Option], Option]:
    """The option that writes a page of the documentation."""
    return click.option(
        "--write",
        "target",
        type=click.Path(dir_okay=False, writable=True, path_type=Path),
        help=f"Also write the page of the documentation, here docs/topics/{page}.md.",
    )


@command.command("parser")
@click.option("--rounds", type=click.IntRange(1), default=15, show_default=True, help="Of these the median counts.")
@page_option("benchmarks")
@as_json
def parser(*, rounds: int, target: Path | None, as_json: bool) -> None:
    """Parse running text and tool calls of a thousand to a million characters, in chunks of four characters.

    There is a call in each grammar of the formats; and of every dialect, what it takes to write an event of an agent's
    turn. The reference, a loop: `str.find` of a marker's first character and an append for each chunk.
    """
    with steps(len(subjects()) * len(SIZES) + 3) as progress:
        report = run_parser(rounds=rounds, progress=progress)
        cost = run_agent(rounds=rounds, progress=progress)
        dialects = run_dialects(rounds=rounds, progress=progress)
    if target is not None:
        target.write_text(page(report, conditions()), encoding="utf-8")
    if as_json:
        ratios = {line.name: line.ratio for line in dialects}
        _print_json(report, agent_off=cost.off, agent_on=cost.on, dialects=ratios)
    else:
        _print_parser(report, cost)
        _print_dialects(dialects)


@command.command("pipeline")
@bootstrap
@click.option("--records", type=click.IntRange(100_000), default=600_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Of these the median counts.")
@click.option("--latency", is_flag=True, help="Also measure the latency, at half of the slowest side's rate.")
@click.option("--streams", is_flag=True, help="Also run Kafka Streams (a JDK and mvn needed).")
@before
@page_option("pipeline-benchmark")
@as_json
def pipeline(
    *,
    bootstrap: str | None,
    records: int,
    rounds: int,
    latency: bool,
    streams: bool,
    before: Path | None,
    target: Path | None,
    as_json: bool,
) -> None:
    """Run a worker over a preloaded topic on a real Kafka, snapshots to a real Redis, with each kind of delivery.

    The reference, a pass-through: consume, one record of the mean event size per input in record batches, commits at
    the same interval. And the floor of any worker in Python: the same with each chunk read and written as JSON.
    """
    quiet_kafka()
    sides = sides_of(streams=streams, before=before)
    with steps((bootstrap is None) + 1 + rounds * (len(sides) + latency * len(SIDES))) as progress:
        report = run_pipeline(
            bootstrap=bootstrap,
            records=records,
            rounds=rounds,
            latency=latency,
            progress=progress,
            streams=streams,
            before=before,
        )
    derived = {name: getattr(report, name) for name in DERIVED}
    _tell(pipeline_telling(report), report, derived, target=target, as_json=as_json)


@command.command("latency")
@bootstrap
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Of these the median counts.")
@before
@page_option("latency-benchmark")
@as_json
def latency(*, bootstrap: str | None, rounds: int, before: Path | None, target: Path | None, as_json: bool) -> None:
    """Time records from publish to a reader of what is committed, at 50 to 15,000 a second. Some minutes.

    The reference, a pass-through: consume, and one record of the mean event size per input.
    """
    quiet_kafka()
    with steps((bootstrap is None) + rounds * len(latency_sides(before)) * len(RATES)) as progress:
        report = run_latencies(bootstrap=bootstrap, rounds=rounds, progress=progress, before=before)
    _tell(latencies_telling(report), report, {}, target=target, as_json=as_json)


@command.command("recovery")
@bootstrap
@click.option("--messages", type=click.IntRange(1), default=200_000, show_default=True, help="Open ones, for Redis.")
@click.option("--records", type=click.IntRange(100_000), default=300_000, show_default=True, help="For the replay.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Of these the median counts.")
@page_option("recovery-benchmark")
@as_json
def recovery(
    *, bootstrap: str | None, messages: int, records: int, rounds: int, target: Path | None, as_json: bool
) -> None:
    """Let a worker get its state again on a real Kafka: from snapshots in a real Redis, and by a silent replay.

    The reference of the replay: the same records live, in the same turn.
    """
    quiet_kafka()
    with steps((bootstrap is None) + 2 + 2 * rounds) as progress:
        report = run_recovery(bootstrap=bootstrap, messages=messages, records=records, rounds=rounds, progress=progress)
    derived = {name: getattr(report, name) for name in ("restore_rate", "silent_rate", "replay_ratio")}
    _tell(recovery_telling(report), report, derived, target=target, as_json=as_json)


@command.command("memory")
@click.option("--messages", type=click.IntRange(1), default=1_000_000, show_default=True, help="How many are opened.")
@page_option("memory-benchmark")
@as_json
def memory(*, messages: int, target: Path | None, as_json: bool) -> None:
    """Open a million messages in one process, and tell what each takes. Some minutes, about 2 GiB."""
    with steps(STEPS) as progress:
        report = run_memory(messages=messages, progress=progress)
    derived = {"bytes_per_message": report.last.bytes_per_message}
    _tell(memory_telling(report), report, derived, target=target, as_json=as_json)


@command.command("gateway")
@click.option("--connections", type=click.IntRange(1), default=10_000, show_default=True, help="Idle ones.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Of these the median counts.")
@page_option("gateway-benchmark")
@as_json
def gateway(*, connections: int, rounds: int, target: Path | None, as_json: bool) -> None:
    """Serve streams to hundreds of clients from a real Kafka, and hold ten thousand that wait.

    The reference, a bare server of the same library that writes the same bytes to as many clients, in turns.
    """
    quiet_kafka()
    with steps(3 + rounds * len(GATEWAY_LOADS)) as progress:
        report = run_gateway_bench(rounds=rounds, connections=connections, progress=progress)
    derived = {"ratios": [compared.ratio for compared in report.compared]}
    _tell(gateway_telling(report), report, derived, target=target, as_json=as_json)


@command.command("front")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Of these the median counts.")
@click.option("--stops", type=click.IntRange(2), default=100, show_default=True, help="Answers that are cancelled.")
@click.option(
    "--flush-ms", type=click.IntRange(0), default=25, show_default=True, help="gateway.flush_ms of the front."
)
@page_option("front-benchmark")
@as_json
def front(*, rounds: int, stops: int, flush_ms: int, target: Path | None, as_json: bool) -> None:
    """Ask a model server for up to 200 answers at once, through a front on a real Kafka. Some minutes.

    The reference, the same clients straight at the same model server, in turns.
    """
    quiet_kafka()
    with steps(2 * rounds * len(FRONT_LOADS) + 1) as progress:
        report = run_front_bench(rounds=rounds, stops=stops, flush_ms=flush_ms, progress=progress)
    derived = {"ratios": [compared.share(lambda side: side.tokens_s) for compared in report.compared]}
    _tell(front_telling(report), report, derived, target=target, as_json=as_json)


@command.command("tools")
@click.option("--calls", type=click.IntRange(100), default=2_500, show_default=True, help="In each round.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Of these the median counts.")
@page_option("tools-benchmark")
@as_json
def tools(*, calls: int, rounds: int, target: Path | None, as_json: bool) -> None:
    """Call a tool that does nothing ten thousand times a minute, with a runner on a real Kafka.

    The reference, the same calls by a program with the protocol's SDK, in turns. Needs the extra `tools`.
    """
    need_tools()
    from tokenmill.bench.tools import run_tools_bench  # noqa: PLC0415 -- of an extra
    from tokenmill.bench.tools_telling import tools_telling  # noqa: PLC0415 -- of an extra

    quiet_kafka()
    with steps(2 * rounds) as progress:
        report = run_tools_bench(calls=calls, rounds=rounds, progress=progress)
    _tell(tools_telling(report), report, {"ratio": report.ratio}, target=target, as_json=as_json)


command.add_command(guard)


def _tell(
    telling: Telling, report: msgspec.Struct, derived: Mapping[str, object], *, target: Path | None, as_json: bool
) -> None:
    if target is not None:
        target.write_text(telling.page(conditions()), encoding="utf-8")
    _print_json(report, **derived) if as_json else _print_telling(telling)


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


def _print_telling(telling: Telling) -> None:
    console = Terminal()
    for table in telling.tables:
        print_table(console, table.columns, table.rows, right=len(table.columns) - table.texts)
    for finding in telling.findings:
        console.print(str(finding), style="bold" if finding.budget else "", soft_wrap=True)
    _print_conditions(console)
