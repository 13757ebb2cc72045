"""The dashboard's row about the gateway; that its questions are sound is tested with all others."""

from tokenmill.gen.gateway_row import GATEWAY
from tokenmill.observe import GATEWAY_METRICS


def test_every_metric_of_the_gateway_is_shown() -> None:
    """So that nobody has to know the table by heart."""
    asked = " ".join(query.expr for panel in GATEWAY.panels for query in panel.queries)
    assert [metric.name for metric in GATEWAY_METRICS if metric.name not in asked] == []


def test_what_is_short_is_on_top() -> None:
    """Numbers first, of which each that has a bound is red beyond it."""
    first = [panel for panel in GATEWAY.panels if panel.kind == "stat"]
    assert list(GATEWAY.panels[: len(first)]) == first
    assert [panel.title for panel in first if panel.red is None] == ["Gateways", "Open streams"]
