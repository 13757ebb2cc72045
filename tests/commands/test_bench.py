"""`tokenmill bench`: what it prints of given results."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tokenmill.bench.agent import StreamingCost
from tokenmill.bench.dialects import DialectCost
from tokenmill.bench.latency import Latency
from tokenmill.bench.load import Load, Shape
from tokenmill.bench.memory import Footprint
from tokenmill.bench.parser import Growth, Line, Report
from tokenmill.bench.pipeline import Pipeline
from tokenmill.bench.throughput import Run
from tokenmill.commands import bench
from tokenmill.commands.bench import command

LINE = Line("json_call", "hermes", "a file", 10_000, 0.1, 0.6, 6.1, 20.0)
REPORT = Report(4, [LINE], [Growth("json_call", "a file", 1.01)], [Footprint("open", 1_500.4)])
RUNS = {"pass-through": [Run(100_000.0, 0.5, 0.5)], "worker": [Run(60_000.0, 0.95, 0.3)]}
LATENCIES = {side: [Latency(30_000.0, 5.0, p99)] for side, p99 in (("pass-through", 20.0), ("worker", 30.0))}
PIPELINE = Pipeline(Load(600_000), Shape(0.95, 200.0), 4, 100, RUNS, LATENCIES)


@pytest.fixture(autouse=True)
def results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring is tested where it is done; here stand results of it."""
    monkeypatch.setattr(bench, "run_parser", lambda **_: REPORT)
    monkeypatch.setattr(bench, "run_agent", lambda **_: StreamingCost(10.0, 10.2, 25.0))
    monkeypatch.setattr(bench, "run_dialects", lambda **_: [DialectCost("anthropic", 0.1, 1.2, 12.0)])
    monkeypatch.setattr(bench, "run_pipeline", lambda **_: PIPELINE)


def test_the_parser_s_page_shows_both_sides_and_the_ratio() -> None:
    """And how the time grows with a call."""
    page = CliRunner().invoke(command, ["parser"]).stdout
    cells = ["json_call", "a", "file", "10,000", "0.100", "0.600", "6.1", "20"]
    assert cells in [line.split() for line in page.splitlines()]
    assert "total time, json_call, a file: grows with the length to the power of 1.01" in page
    assert "a message that is open: 1,500 bytes" in page
    assert "agent's page: 1.02 of the time without while off, 2.50 while on" in page
    assert ["anthropic", "0.100", "1.200", "12.0"] in [line.split() for line in page.splitlines()]
    assert "python 3." in page


def test_the_page_of_the_documentation_is_written_on_demand(tmp_path: Path) -> None:
    """With the conditions under which it was measured."""
    target = tmp_path / "page.md"
    assert CliRunner().invoke(command, ["parser", "--write", str(target)]).exit_code == 0
    text = target.read_text(encoding="utf-8")
    assert "| json_call | hermes | a file | 6.1 | 1.01 |" in text
    assert f"| processor | {bench.processor()} |" in text


def test_the_pipeline_s_page_says_the_ratio_and_what_limits_it() -> None:
    """Rates, processor time for one record, and the load."""
    page = CliRunner().invoke(command, ["pipeline"]).stdout
    lines = [line.split() for line in page.splitlines()]
    assert ["pass-through", "100,000", "100,000", "5.0", "µs"] in lines
    assert ["worker", "60,000", "60,000", "15.8", "µs"] in lines
    assert ["worker", "5", "ms", "30", "ms"] in lines
    assert "the worker reaches 0.60 of the pass-through" in page
    assert "0.95 with the worker, 0.30 with the broker; its one event loop is the limit" in page


def test_what_is_unknown_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a system that does not tell processor times."""
    runs = {side: [Run(1.0, None, None)] for side in RUNS}
    monkeypatch.setattr(bench, "run_pipeline", lambda **_: msgspec.structs.replace(PIPELINE, runs=runs))
    assert "what limits it: unknown" in CliRunner().invoke(command, ["pipeline"]).stdout


def test_results_are_also_one_json_object() -> None:
    """With the conditions under which they were measured."""
    parser = msgspec.json.decode(CliRunner().invoke(command, ["parser", "--json"]).stdout)
    assert (parser["lines"][0]["parser_us"], parser["growth"][0]["exponent"]) == (0.6, 1.01)
    assert list(parser["dialects"]) == ["anthropic"]
    pipeline = msgspec.json.decode(CliRunner().invoke(command, ["pipeline", "--json"]).stdout)
    assert (pipeline["ratio"], pipeline["runs"]["worker"][0]["records_per_s"]) == (0.6, 60_000.0)
    assert {"python", "aiokafka"} <= pipeline["conditions"].keys()
