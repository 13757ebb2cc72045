"""What streaming calls to an agent's page costs."""

import pytest

from tokenmill.bench import agent
from tokenmill.bench.agent import StreamingCost, run_agent
from tokenmill.errors import FatalError


def test_three_runs_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same calls in each; only one of them streams."""
    monkeypatch.setattr(agent, "CALL_CHARS", 400)
    monkeypatch.setattr(agent, "CALLS", 2)
    told: list[str] = []
    cost = run_agent(rounds=1, progress=told.append)
    assert min(cost.without_us, cost.off_us, cost.on_us) > 0
    assert told == ["calls streamed to an agent's page"]


def test_nothing_is_measured_where_nothing_is_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result of other rows would say nothing."""
    monkeypatch.setattr(agent, "_OTHERS", frozenset())
    monkeypatch.setattr(agent, "CALLS", 1)
    with pytest.raises(FatalError, match="nothing to compare"):
        run_agent(rounds=1, progress=lambda _: None)


def test_costs_are_ratios() -> None:
    """To the run without."""
    cost = StreamingCost(2.0, 2.1, 5.0)
    assert (cost.off, cost.on) == (1.05, 2.5)
