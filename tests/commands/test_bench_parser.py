"""`tokenmill bench parser`: what it prints of given results."""

import os
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tokenmill.bench.conditions import processor
from tokenmill.bench.dialects import DialectCost
from tokenmill.bench.memory import Footprint
from tokenmill.bench.parser import Growth, Line, Report
from tokenmill.commands import bench_parser
from tokenmill.commands.bench import command

LINE = Line("json_call", "hermes", "a file", 10_000, 0.1, 0.6, 6.1, 20.0)
REPORT = Report(4, [LINE], [Growth("json_call", "a file", 1.01)], [Footprint("open", 1_500.4)])


@pytest.fixture(autouse=True)
def results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring is tested where it is done; here stand results of it."""
    monkeypatch.setattr(bench_parser, "run_parser", lambda **_: REPORT)
    monkeypatch.setattr(bench_parser, "run_dialects", lambda **_: [DialectCost("anthropic", 0.1, 1.2, 12.0)])


def test_the_parser_s_page_shows_both_sides_and_the_ratio() -> None:
    """And how the time grows with a call."""
    page = CliRunner().invoke(command, ["parser"]).stdout
    cells = ["json_call", "a", "file", "10,000", "0.100", "0.600", "6.1", "20"]
    assert cells in [line.split() for line in page.splitlines()]
    assert "total time, json_call, a file: grows with the length to the power of 1.01" in page
    assert "a message that is open: 1,500 bytes" in page
    assert ["anthropic", "0.100", "1.200", "12.0"] in [line.split() for line in page.splitlines()]
    assert "python 3." in page


def test_the_page_of_the_documentation_is_written_on_demand(tmp_path: Path) -> None:
    """With the conditions under which it was measured."""
    target = tmp_path / "page.md"
    assert CliRunner().invoke(command, ["parser", "--write", str(target)]).exit_code == 0
    text = target.read_text(encoding="utf-8")
    assert "| json_call | hermes | a file | 6.1 | 1.01 |" in text
    assert f"| processors | {os.cpu_count()} of {processor()} |" in text


def test_results_are_also_one_json_object() -> None:
    """With those of dialects."""
    parser = msgspec.json.decode(CliRunner().invoke(command, ["parser", "--json"]).stdout)
    assert (parser["lines"][0]["parser_us"], parser["growth"][0]["exponent"]) == (0.6, 1.01)
    assert list(parser["dialects"]) == ["anthropic"]
