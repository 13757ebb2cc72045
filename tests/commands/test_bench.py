"""`tokenmill bench`: what it prints of given results."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tokenmill.bench.conditions import processor
from tokenmill.bench.front_report import LOADS, Compared, Side, Stops
from tokenmill.bench.front_report import Report as FrontReport
from tokenmill.bench.latencies import Latencies
from tokenmill.bench.latency import Latency
from tokenmill.bench.load import Load, Shape
from tokenmill.bench.open_messages import Crowd, Held
from tokenmill.bench.pipeline import Pipeline
from tokenmill.bench.recovery import Recovery, Replayed
from tokenmill.bench.scale import Cell, Cost, Scale, name_of
from tokenmill.bench.scale import Run as Measured
from tokenmill.bench.throughput import Run
from tokenmill.bench.workbench import AT_LEAST_ONCE, EXACTLY_ONCE, PASS_THROUGH
from tokenmill.commands import bench
from tokenmill.commands.bench import command

RUNS = {
    PASS_THROUGH: [Run(100_000.0, 0.5, 0.5)],
    AT_LEAST_ONCE: [Run(60_000.0, 0.95, 0.3)],
    EXACTLY_ONCE: [Run(54_000.0, 0.9, 0.4)],
}
P99 = {PASS_THROUGH: 20.0, AT_LEAST_ONCE: 30.0, EXACTLY_ONCE: 100.0}
LATENCIES = {side: [Latency(30_000.0, 5.0, p99)] for side, p99 in P99.items()}
PIPELINE = Pipeline(Load(600_000), Shape(0.95, 200.0), 4, RUNS, LATENCIES)
TIMES = {PASS_THROUGH: (3.0, 9.0), AT_LEAST_ONCE: (4.0, 11.0), EXACTLY_ONCE: (14.0, 49.0)}
BY_RATE = Latencies(8, {side: {50: [Latency(50.0, *times)]} for side, times in TIMES.items()})
RECOVERY = Recovery(4, 200_000, 151.2, [60_000.0], 300_000, [Replayed(10_000.0, 25_000.0)])
FRONT = FrontReport(
    [Compared(LOADS[3], [Side(100, 10_000, 0.4, 1, 0.3, 1, {})], [Side(90, 9_000, 20, 50, 20, 50, {"worker": 40})])],
    Stops(100, 20.0, 130.0),
    25,
)
SCALE = Scale(
    2,
    {name_of(Cell(4, workers)): [Measured(40_000.0 * workers, Cost(20.0, 8.0, 2.0))] for workers in (1, 2)},
    {"leaves": 0.8},
    (Cell(4, 1), Cell(4, 2)),
)
CROWD = Crowd(4, [Held(1_000, 1_800.4)], 2 << 30, 200.0)


@pytest.fixture(autouse=True)
def results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring is tested where it is done; here stand results of it."""
    monkeypatch.setattr(bench, "run_pipeline", lambda **_: PIPELINE)
    monkeypatch.setattr(bench, "run_latencies", lambda **_: BY_RATE)
    monkeypatch.setattr(bench, "run_recovery", lambda **_: RECOVERY)
    monkeypatch.setattr(bench, "run_memory", lambda **_: CROWD)
    monkeypatch.setattr(bench, "run_front_bench", lambda **_: FRONT)
    monkeypatch.setattr(bench, "run_scale", lambda **_: SCALE)


def test_rounds_are_told_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    """As lines where nobody watches; stdout has the results alone."""

    def run(progress: Callable[[str], None], **_: object) -> FrontReport:
        progress("round 1 of 1: the front")
        return FRONT

    monkeypatch.setattr(bench, "run_front_bench", run)
    told = CliRunner().invoke(command, ["front"])
    assert told.stderr == "round 1 of 1: the front\n"
    assert "round 1 of 1" not in told.stdout


@pytest.mark.parametrize(
    ("name", "row", "finding"),
    [
        (
            "pipeline",
            "pass-through 100,000 100,000 5.0 µs unknown",
            "exactly-once reaches 0.90 of at-least-once (budget: at least",
        ),
        (
            "latency",
            "at-least-once 4 / 11",
            "exactly-once at 50 records a second: 14 / 49 ms (budget: at most",
        ),
        (
            "recovery",
            "records a second, silently 25,000",
            "25,000 records a second by a silent replay, 2.5 times the live rate (budget: at least",
        ),
        (
            "front",
            "200 answers at once the front 90.0 9,000 20.0 50.0 20.0 50.0",
            "200 answers at once: 0.90 of the tokens a second (budget: at least",
        ),
        (
            "scale",
            "4 partitions, 2 workers 80,000 66,667 1.20 20.0 8.0 2.0",
            "4 partitions, 2 workers: 2.00 times as many records a second as with one",
        ),
        ("memory", "1,000 1,800", "1,800 bytes for an open message (budget: at most 2,048)"),
    ],
)
def test_the_service_s_benchmarks_print_tables_and_findings(name: str, row: str, finding: str, tmp_path: Path) -> None:
    """With their budgets and conditions; a page of the documentation says the same."""
    target = tmp_path / "page.md"
    printed = CliRunner().invoke(command, [name, "--write", str(target)]).stdout
    assert row.split() in [line.split() for line in printed.splitlines()]
    page = target.read_text(encoding="utf-8")
    for text in (printed, page):
        assert finding in text
        assert processor() in text
    assert f"Written by `tokenmill bench {name} " in page


def test_results_are_also_one_json_object() -> None:
    """With the conditions under which they were measured."""
    pipeline = msgspec.json.decode(CliRunner().invoke(command, ["pipeline", "--json"]).stdout)
    assert (pipeline["worker_share"], pipeline["exactly_once_share"]) == (0.6, 0.9)
    assert (pipeline["latency_ratio"], pipeline["added_ms"]) == (1.5, 70.0)
    assert pipeline["runs"][AT_LEAST_ONCE][0]["records_per_s"] == 60_000.0
    assert {"python", "aiokafka"} <= pipeline["conditions"].keys()
    recovery = msgspec.json.decode(CliRunner().invoke(command, ["recovery", "--json"]).stdout)
    assert [recovery[name] for name in ("restore_rate", "silent_rate", "replay_ratio")] == [60_000.0, 25_000.0, 2.5]
    front = msgspec.json.decode(CliRunner().invoke(command, ["front", "--json"]).stdout)
    assert front["ratios"] == [0.9]
    scale = msgspec.json.decode(CliRunner().invoke(command, ["scale", "--json"]).stdout)
    assert scale["foretold"] == {
        "4 partitions, 1 worker": 50_000.0,
        "4 partitions, 2 workers": pytest.approx(66_667, abs=1),
    }
    memory = msgspec.json.decode(CliRunner().invoke(command, ["memory", "--json"]).stdout)
    assert memory["bytes_per_message"] == 1_800.4
