"""The figures of the front's benchmark: differences and ratios of rounds, then their median."""

from tokenmill.bench.front_report import LOADS, Compared, Side


def side(value: float) -> Side:
    """One with the same figure everywhere."""
    return Side(value, value, value, value, value, value, {"worker": value})


def test_each_round_counts_against_the_other() -> None:
    """Both sides of a round met the same machine."""
    compared = Compared(LOADS[0], [side(1), side(2), side(10)], [side(3), side(8), side(11)])
    assert compared.added(lambda each: each.first_p50_ms) == 2
    assert compared.share(lambda each: each.tokens_s) == 3
    assert compared.costs() == {"worker": 8}
