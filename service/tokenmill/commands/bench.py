"""`tokenmill bench`."""

from pathlib import Path

import click

from tokenmill.bench.front import run_front_bench
from tokenmill.bench.front_report import LOADS as FRONT_LOADS
from tokenmill.bench.front_summary import front_summary
from tokenmill.bench.gateway import run_gateway_bench
from tokenmill.bench.gateway_report import LOADS as GATEWAY_LOADS
from tokenmill.bench.gateway_summary import gateway_summary
from tokenmill.bench.latencies import RATES, latency_sides, run_latencies
from tokenmill.bench.latencies_summary import latencies_summary
from tokenmill.bench.open_messages import STEPS, run_memory
from tokenmill.bench.open_messages_summary import memory_summary
from tokenmill.bench.pipeline import run_pipeline, sides_of
from tokenmill.bench.pipeline_summary import pipeline_summary
from tokenmill.bench.recovery import run_recovery
from tokenmill.bench.recovery_summary import recovery_summary
from tokenmill.bench.scale import CELLS, name_of, run_scale
from tokenmill.bench.scale_summary import scale_summary
from tokenmill.bench.workbench import SIDES
from tokenmill.commands.bench_guard import guard
from tokenmill.commands.bench_parser import parser
from tokenmill.commands.bench_summary import Measured, before, bootstrap, measured, rounds_option
from tokenmill.commands.settings import need_tools
from tokenmill.terminal.progress import steps

DERIVED = ("worker_share", "exactly_once_share", "latency_ratio", "added_ms")
"""The pipeline's figures that have a budget."""


@click.group()
def command() -> None:
    """Measure the parser, or a whole worker, against a reference if there is one.

    Machines differ and are shared, so what counts is the ratio to a reference that runs in turns with it.
    """


@command.command("pipeline")
@bootstrap
@click.option("--records", type=click.IntRange(100_000), default=600_000, show_default=True)
@rounds_option()
@click.option("--latency", is_flag=True, help="Also measure the latency, at half of the slowest side's rate.")
@click.option("--streams", is_flag=True, help="Also run Kafka Streams (a JDK and mvn needed).")
@before
@measured("pipeline-benchmark")
def pipeline(
    *, bootstrap: str | None, records: int, rounds: int, latency: bool, streams: bool, before: Path | None
) -> Measured:
    """Run a worker over a preloaded topic on a real Kafka, with snapshots to a real Redis and each kind of delivery.

    The reference, a pass-through: consume, publish one record of the mean event size per input in record batches,
    commit at the same interval. And the floor of any worker in Python: the same with each chunk read and written as
    JSON.
    """
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
    return pipeline_summary(report), report, derived


@command.command("latency")
@bootstrap
@rounds_option()
@before
@measured("latency-benchmark")
def latency(*, bootstrap: str | None, rounds: int, before: Path | None) -> Measured:
    """Time records from publish to a reader of committed records, at 50 to 15,000 a second. Takes some minutes.

    The reference, a pass-through: consume, and publish one record of the mean event size per input. And the floors of a
    worker with each kind of delivery: the same with each chunk read and written as JSON, and the same in transactions.
    """
    with steps((bootstrap is None) + rounds * len(latency_sides(before)) * len(RATES)) as progress:
        report = run_latencies(bootstrap=bootstrap, rounds=rounds, progress=progress, before=before)
    return latencies_summary(report), report, {}


@command.command("scale")
@click.option(
    "--records", type=click.IntRange(100_000), default=300_000, show_default=True, help="Records in each cell."
)
@rounds_option()
@measured("scale-benchmark")
def scale(*, records: int, rounds: int) -> Measured:
    """Run several workers on one Kafka, and see how well a model predicts them. Takes some minutes.

    Then one of them leaves and comes back, to measure a record's longest wait.
    """
    with steps(2 + rounds * len(CELLS)) as progress:
        report = run_scale(records=records, rounds=rounds, progress=progress)
    foretold = {name_of(cell): report.foretold(cell) for cell in report.cells}
    return scale_summary(report), report, {"foretold": foretold}


@command.command("recovery")
@bootstrap
@click.option(
    "--messages", type=click.IntRange(1), default=200_000, show_default=True, help="Open messages, for Redis."
)
@click.option("--records", type=click.IntRange(100_000), default=300_000, show_default=True, help="For the replay.")
@rounds_option()
@measured("recovery-benchmark")
def recovery(*, bootstrap: str | None, messages: int, records: int, rounds: int) -> Measured:
    """Restore a worker's state on a real Kafka: from snapshots in a real Redis, and by a silent replay.

    The reference of the replay: the same records live, in the same turn.
    """
    with steps((bootstrap is None) + 2 + 2 * rounds) as progress:
        report = run_recovery(bootstrap=bootstrap, messages=messages, records=records, rounds=rounds, progress=progress)
    derived = {name: getattr(report, name) for name in ("restore_rate", "silent_rate", "replay_ratio")}
    return recovery_summary(report), report, derived


@command.command("memory")
@click.option("--messages", type=click.IntRange(1), default=1_000_000, show_default=True, help="Messages to open.")
@measured("memory-benchmark")
def memory(*, messages: int) -> Measured:
    """Open a million messages in one process, and measure their memory. Takes some minutes and about 2 GiB."""
    with steps(STEPS) as progress:
        report = run_memory(messages=messages, progress=progress)
    derived = {"bytes_per_message": report.last.bytes_per_message}
    return memory_summary(report), report, derived


@command.command("gateway")
@click.option("--connections", type=click.IntRange(1), default=10_000, show_default=True, help="Idle connections.")
@rounds_option()
@measured("gateway-benchmark")
def gateway(*, connections: int, rounds: int) -> Measured:
    """Serve streams to hundreds of clients from a real Kafka, and hold ten thousand idle connections.

    The reference: a bare server of the same library that writes the same bytes to as many clients, in turns.
    """
    with steps(3 + rounds * len(GATEWAY_LOADS)) as progress:
        report = run_gateway_bench(rounds=rounds, connections=connections, progress=progress)
    derived = {"ratios": [compared.ratio for compared in report.compared]}
    return gateway_summary(report), report, derived


@command.command("front")
@rounds_option()
@click.option("--stops", type=click.IntRange(2), default=100, show_default=True, help="Answers to cancel.")
@click.option(
    "--flush-ms", type=click.IntRange(0), default=25, show_default=True, help="gateway.flush_ms of the front."
)
@measured("front-benchmark")
def front(*, rounds: int, stops: int, flush_ms: int) -> Measured:
    """Ask a model server for up to 200 answers at once, through a front on a real Kafka. Takes some minutes.

    The reference: the same clients directly at the same model server, in turns.
    """
    with steps(2 * rounds * len(FRONT_LOADS) + 1) as progress:
        report = run_front_bench(rounds=rounds, stops=stops, flush_ms=flush_ms, progress=progress)
    derived = {"ratios": [compared.share(lambda side: side.tokens_s) for compared in report.compared]}
    return front_summary(report), report, derived


@command.command("tools")
@click.option("--calls", type=click.IntRange(100), default=2_500, show_default=True, help="Calls in each round.")
@rounds_option()
@measured("tools-benchmark")
def tools(*, calls: int, rounds: int) -> Measured:
    """Call a tool that does nothing ten thousand times a minute, with a runner on a real Kafka.

    The reference: the same calls by a program with the protocol's SDK, in turns. Needs the extra `tools`.
    """
    need_tools()
    from tokenmill.bench.tools import run_tools_bench  # noqa: PLC0415 -- of an extra
    from tokenmill.bench.tools_summary import tools_summary  # noqa: PLC0415 -- of an extra

    with steps(2 * rounds) as progress:
        report = run_tools_bench(calls=calls, rounds=rounds, progress=progress)
    return tools_summary(report), report, {"ratio": report.ratio}


command.add_command(parser)
command.add_command(guard)
