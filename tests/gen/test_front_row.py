"""What the dashboard shows of the front; that its questions are sound is tested with all others."""

from tests.support.deployment import RULES, rules
from tokenmill.gen.front_row import FRONT
from tokenmill.observe import FRONT_METRICS


def test_every_metric_of_the_front_is_shown_and_nothing_else() -> None:
    """By itself or by a recording rule."""
    recorded = {rule["record"]: rule["expr"] for path in RULES for rule in rules(path) if "record" in rule}
    asked = [query.expr for panel in FRONT.panels for query in panel.queries]
    asked = [next((expr for name, expr in recorded.items() if name in each), each) for each in asked]
    names = [metric.name for metric in FRONT_METRICS]
    assert [name for name in names if not any(name in each for each in asked)] == []
    assert all(any(name in each for name in names) for each in asked)


def test_what_is_wrong_is_on_top() -> None:
    """Numbers first, of which each that has a bound is red beyond it."""
    first = [panel for panel in FRONT.panels if panel.kind == "stat"]
    assert list(FRONT.panels[: len(first)]) == first
    red = [panel.title for panel in first if panel.red is not None]
    assert red == ["Requests that fail", "First event, p95", "Known requests", "Last answer from Kafka"]
