"""The plan: the same for a seed, and no kind of fault is left out."""

from itertools import islice

import pytest

from tests.chaos.faults import FAULTS
from tests.chaos.plan import KINDS, LONGEST_PAUSE_S, SHORTEST_PAUSE_S, steps


def test_every_kind_can_be_done() -> None:
    """A kind that is planned has a function, and no function is never planned."""
    assert sorted(FAULTS) == sorted(KINDS)


@pytest.mark.parametrize("seed", range(20))
def test_every_kind_comes_before_any_comes_again(seed: int) -> None:
    """In each round, so however short a run is."""
    kinds = [step.kind for step in islice(steps(seed), 3 * len(KINDS))]
    for begin in range(0, len(kinds), len(KINDS)):
        assert set(kinds[begin : begin + len(KINDS)]) == set(KINDS)


def test_a_seed_is_a_plan() -> None:
    """The same again, and another seed gives another one."""
    assert list(islice(steps(7), 50)) == list(islice(steps(7), 50))
    assert list(islice(steps(7), 50)) != list(islice(steps(8), 50))


def test_faults_come_every_few_seconds() -> None:
    """Pauses differ, within their limits."""
    pauses = [step.pause_s for step in islice(steps(1), 100)]
    assert SHORTEST_PAUSE_S <= min(pauses) < max(pauses) <= LONGEST_PAUSE_S
