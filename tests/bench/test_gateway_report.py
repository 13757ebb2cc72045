"""Figures that the gateway's benchmark reports are worked out from what was measured."""

import pytest

from tokenmill.bench.gateway_report import LOADS, Compared, Side, Wait


def test_a_rate_is_that_of_one_core() -> None:
    """Whatever share of one was used."""
    assert Side(20.0, 1.0, 2.0).frames_per_core == 50_000


def test_rounds_are_compared_with_their_own_reference() -> None:
    """A slow moment of the machine is one for both servers."""
    ours, bare = [[Side(us, 1.0, 2.0) for us in each] for each in ((10.0, 40.0, 12.0), (5.0, 30.0, 9.0))]
    assert Compared(LOADS[0], ours, bare).ratio == pytest.approx(0.75)


def test_a_wait_is_told_by_its_middle_and_its_last_hundredth() -> None:
    """In milliseconds, of seconds."""
    wait = Wait.of("back", [number / 1_000 for number in range(1, 1_000)], 5.0, 80)
    assert (wait.p50_ms, wait.p99_ms) == pytest.approx((500, 990))
    assert (wait.budget_ms, wait.size) == (5.0, 80)
