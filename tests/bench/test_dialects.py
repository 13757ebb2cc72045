"""What dialects cost: that it is measured over what dialects are for, and about how much it is."""

from collections import Counter

import pytest

from tokenmill.bench import dialects
from tokenmill.bench.dialects import DialectCost, encode, events_of, grammar_for, run_dialects
from tokenmill.dialects import DIALECTS, Dialect, find_dialect

BUDGET = 20
NOISE = 1.5
"""A machine with much else to do."""
TURN_MESSAGES, ROUNDS = 40, 7
"""Many short turns: the median of a few long ones is at times twice as high."""


def test_every_dialect_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """In turns with the loop."""
    monkeypatch.setattr(dialects, "MESSAGES", 1)
    told: list[str] = []
    costs = run_dialects(rounds=1, progress=told.append)
    assert [cost.name for cost in costs] == [dialect.name for dialect in DIALECTS]
    assert all(cost.ratio == pytest.approx(cost.dialect_us / cost.loop_us) for cost in costs)
    assert told == ["what dialects cost"]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_events_are_those_of_an_agents_turn(dialect: Dialect) -> None:
    """Mostly text, some reasoning, and a call that grows; every dialect has something to say of it."""
    grammar = grammar_for(dialect)
    events = events_of(grammar)
    counts = Counter(event.type for event in events)
    assert counts["text-delta"] > counts["tool-input-delta"] > counts["reasoning-delta"] > 20
    assert counts["tool-call"] == counts["finish"] == 1
    assert encode(dialect, grammar, events, 2) == 2 * encode(dialect, grammar, events, 1) > 0


def test_a_dialect_that_streams_gets_what_it_needs() -> None:
    """Deltas of arguments come only where they are made into JSON."""
    found = {
        name: Counter(event.type for event in events_of(grammar_for(find_dialect(name))))
        for name in ("native", "anthropic")
    }
    assert (found["native"]["argument-delta"], found["anthropic"]["argument-delta"] > 20) == (0, True)


@pytest.mark.slow
def test_no_dialect_costs_far_more_than_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 loops for an event."""
    monkeypatch.setattr(dialects, "MESSAGES", TURN_MESSAGES)
    costs: list[DialectCost] = run_dialects(rounds=ROUNDS, progress=lambda _: None)
    assert {cost.name: cost.ratio for cost in costs if cost.ratio > BUDGET * NOISE} == {}
