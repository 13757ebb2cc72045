"""Timing side by side."""

import gc

import pytest

from tokenmill.bench.clock import growth_exponent, medians


def test_functions_take_turns() -> None:
    """A B A B: a slow moment of the machine hits both."""
    order: list[str] = []
    times = medians({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=3)
    assert order == ["a", "b"] * 3
    assert times.keys() == {"a", "b"}
    assert all(seconds > 0 for seconds in times.values())


def test_the_garbage_collector_rests_meanwhile() -> None:
    """It is on again afterwards, also after an error."""
    states: list[bool] = []
    medians({"a": lambda: states.append(gc.isenabled())}, rounds=1)
    assert states == [False]
    with pytest.raises(ZeroDivisionError):
        medians({"a": lambda: 1 / 0}, rounds=1)
    assert gc.isenabled()


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_growth_is_the_power_of_the_size(power: float) -> None:
    """Linear is 1, quadratic 2."""
    sizes = [10.0, 100.0, 1000.0]
    assert growth_exponent(sizes, [3 * size**power for size in sizes]) == pytest.approx(power)
