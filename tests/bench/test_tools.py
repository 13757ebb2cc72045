"""A small run of the benchmark of tools: both sides make all calls."""

import pytest

from tokenmill.bench.tools import Report, Side, run_tools_bench


def test_a_round_of_each_counts_against_the_other() -> None:
    """The median of the rounds' ratios: both sides of a round met the same machine."""
    direct = [Side(1, 1, 5, 9), Side(2, 2, 5, 9), Side(1, 1, 5, 9)]
    runner = [Side(2, 1, 5, 9), Side(4, 4, 5, 9), Side(4, 2, 5, 9)]
    assert Report(100, direct, runner).ratio == 2


@pytest.mark.integration
@pytest.mark.slow
def test_both_sides_make_all_calls() -> None:
    """And say what they took."""
    told: list[str] = []
    report = run_tools_bench(calls=100, rounds=1, progress=told.append)
    assert (len(report.direct), len(report.runner)) == (1, 1)
    for side in (*report.direct, *report.runner):
        assert 0 < side.server_ms < side.cost_ms
        assert 0 < side.p50_ms <= side.p99_ms
    assert report.ratio > 0
    assert told == ["round 1 of 1: the SDK", "round 1 of 1: a runner"]
