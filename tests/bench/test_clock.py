"""Timing side by side."""

import gc

import pytest

from tokenmill.bench.clock import growth_exponent, in_turns, median_ratio


def test_functions_take_turns() -> None:
    """A B A B: a slow moment of the machine hits both."""
    order: list[str] = []
    times = in_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=3)
    assert order == ["a", "b"] * 3
    assert times.keys() == {"a", "b"}
    assert all(second > 0 for seconds in times.values() for second in seconds)


def test_the_garbage_collector_rests_meanwhile() -> None:
    """It is on again afterwards, also after an error."""
    states: list[bool] = []
    in_turns({"a": lambda: states.append(gc.isenabled())}, rounds=1)
    assert states == [False]
    with pytest.raises(ZeroDivisionError):
        in_turns({"a": lambda: 1 / 0}, rounds=1)
    assert gc.isenabled()


def test_what_was_there_before_is_not_searched_for_garbage() -> None:
    """Behind each round only what the round made is."""
    before = gc.get_freeze_count()
    kept: list[list[int]] = [[] for _ in range(100)]
    in_turns({"a": lambda: None}, rounds=1)
    assert gc.get_freeze_count() >= before + len(kept)


def test_a_slow_round_is_slow_for_both() -> None:
    """Each time is held against its neighbour, so that a machine that slows down changes nothing."""
    assert median_ratio([2.0, 20.0, 6.0], [1.0, 10.0, 2.0]) == 2.0


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_growth_is_the_power_of_the_size(power: float) -> None:
    """Linear is 1, quadratic 2."""
    sizes = [10.0, 100.0, 1000.0]
    assert growth_exponent(sizes, [3 * size**power for size in sizes]) == pytest.approx(power)
