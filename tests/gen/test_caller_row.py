"""What the dashboard shows of callers; that its questions are sound is tested with all others."""

from tokenmill.gen.caller_row import CALLERS
from tokenmill.observe import CALLER_METRICS


def test_every_metric_of_callers_is_shown_and_nothing_else() -> None:
    """So that nobody has to know the table by heart."""
    asked = [query.expr for panel in CALLERS.panels for query in panel.queries]
    names = [metric.name for metric in CALLER_METRICS]
    assert [name for name in names if not any(name in each for each in asked)] == []
    assert all(any(name in each for name in names) for each in asked)


def test_what_is_short_is_on_top() -> None:
    """Numbers first, of which each that has a bound is red beyond it."""
    first = [panel for panel in CALLERS.panels if panel.kind == "stat"]
    assert list(CALLERS.panels[: len(first)]) == first
    bounded = ["URLs left alone", "Fullest caller", "Parsed by their servers"]
    assert [panel.title for panel in first if panel.red is not None] == bounded
