"""A report says what it saw, and a run that saw too little has failed."""

import json
from pathlib import Path

import pytest

from tests.chaos.report import Report, spread


def _report(**fields: object) -> Report:
    return Report(delivery="exactly-once", seed=1, **fields)  # type: ignore[arg-type] # what a test is about


def test_one_problem_or_one_wrong_conversation_fails() -> None:
    """Nothing else does."""
    assert _report(restores={"redis": 1}).passed
    assert not _report(problems=["I3: partition 0: committed 4 after 5"]).passed
    assert not _report(wrong={"c": "events: a record that is repeated"}).passed


def test_events_that_are_back_too_late_are_a_problem() -> None:
    """Of each loss of a broker there is a row, and one that took too long fails the run."""
    report = _report()
    report.lost("exactly-once, kill: back after 1 s", in_time=True)
    assert report.passed
    report.lost("exactly-once, freeze: back after 40 s", in_time=False)
    assert report.lost_brokers == ["exactly-once, kill: back after 1 s", "exactly-once, freeze: back after 40 s"]
    assert report.problems == ["a lost broker: exactly-once, freeze: back after 40 s"]


@pytest.mark.parametrize("name", ["report.json", "report.md"])
def test_a_report_can_be_written(tmp_path: Path, name: str) -> None:
    """For programs, or for people; both have every field."""
    report = _report(faults={"kill-one": 3}, takeovers=spread([1.0, 2.0, 9.0]))
    report.write(tmp_path / name)
    text = (tmp_path / name).read_text()
    assert "kill-one" in text
    assert "9.0" in text
    if name.endswith("json"):
        assert json.loads(text)["takeovers"] == [3, 2.0, 9.0, 9.0, 9.0]


def test_nothing_measured_has_quantiles_too() -> None:
    """All of them 0, and no error."""
    assert spread([]) == (0, 0.0, 0.0, 0.0, 0.0)
