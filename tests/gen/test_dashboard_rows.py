"""What the dashboard shows, and in which order."""

import re
from pathlib import Path

import pytest
import yaml

from tests.support.deployment import RULES, promtool, rules
from tests.support.promql import as_rules, selectors, unknown
from tokenmill.gen.dashboard_rows import ROWS
from tokenmill.observe import CALLER_METRICS, FRONT_METRICS, GATEWAY_METRICS, METRICS, TOOLS_METRICS

PANELS = [panel for row in ROWS for panel in row.panels]
EXPRESSIONS = [query.expr for panel in PANELS for query in panel.queries]
RECORDED = {rule["record"]: rule["expr"] for path in RULES for rule in rules(path) if "record" in rule}

VALUES = {"$__rate_interval": "5m", "$__range": "1h", "$namespace": ".*", "$job": ".*", "$instance": ".*"}
VALUES |= {"$format": "hermes|qwen3_xml", "$codec": ".*"}
"""What Grafana would put in place of its variables."""


def filled_in(expression: str) -> str:
    """The expression as Prometheus gets it."""
    for variable, value in VALUES.items():
        expression = expression.replace(variable, value)
    return expression


def test_every_expression_parses(tmp_path: Path) -> None:
    """Promtool reads each as a rule, with the variables filled in."""
    expressions = [filled_in(expression) for expression in EXPRESSIONS]
    assert not any("$" in expression for expression in expressions)
    path = tmp_path / "expressions.yaml"
    path.write_text(as_rules(expressions))
    assert f"{len(EXPRESSIONS)} rules found" in promtool("check", "rules", path)


def test_expressions_ask_only_for_what_exists() -> None:
    """Metrics of the table, or recorded names; and labels that they have."""
    assert [problem for expression in EXPRESSIONS for problem in unknown(expression, set(RECORDED))] == []


def test_every_metric_is_shown() -> None:
    """By itself or by a recording rule, so that nobody has to know the table by heart."""
    seen = {selector.name for expression in EXPRESSIONS for selector in selectors(expression)}
    seen |= {selector.name for name in seen & RECORDED.keys() for selector in selectors(RECORDED[name])}
    rows = [*METRICS, *GATEWAY_METRICS, *TOOLS_METRICS, *FRONT_METRICS, *CALLER_METRICS]
    missing = [metric.name for metric in rows if not {metric.name, f"{metric.name}_bucket"} & seen]
    assert missing == []


def test_what_users_feel_comes_first() -> None:
    """Traffic, errors and latency, with a heat map; then what is short, by partition; last formats and codecs."""
    assert [row.title for row in ROWS] == [
        "Traffic, errors, latency",
        "Saturation",
        "Recovery",
        "By format and codec",
        "Gateway",
        "Tools",
        "Front",
        "Callers",
    ]
    assert [panel.title for panel in ROWS[0].panels if panel.kind == "heatmap"] == ["Chunk to event"]
    assert ROWS[1].panels[0].title == "Lag by partition"


def test_panels_explain_themselves() -> None:
    """Each with a sentence or two; what is drawn with several lines has names for them."""
    for panel in PANELS:
        assert panel.text.endswith(".")
        assert len({query.legend for query in panel.queries}) == len(panel.queries)
        assert all(query.legend for query in panel.queries if len(panel.queries) > 1 or " by (" in query.expr)


def test_what_is_drawn_in_per_cent_is_a_ratio() -> None:
    """A share that is recorded, or a quotient of two sums; a number beside it would flatten its line."""
    share = re.compile(r"(1 - )?\w+:\w+:ratio_.+|(max\()?sum by \(instance\) \(.+\) / sum by \(instance\) \(.+\)")
    asked = [(panel.title, query.expr) for panel in PANELS if panel.unit == "percentunit" for query in panel.queries]
    assert [(title, expression) for title, expression in asked if not share.fullmatch(expression)] == []


@pytest.mark.parametrize(
    ("samples", "lost"),
    [
        pytest.param("_x150 700x50", 700, id="before the first scrape"),
        pytest.param("_x150 0x20 700x30", 700, id="in a new worker, after its first scrape"),
        pytest.param("5x150 705x50", 700, id="in a worker that has run for longer"),
        pytest.param("700x200", 0, id="before the time shown"),
        pytest.param("_x200", 0, id="never"),
    ],
)
def test_lost_counts_all_of_the_time_shown(samples: str, lost: int, tmp_path: Path) -> None:
    """The last hour of a hundred minutes: a counter may begin within it, and not at 0."""
    (panel,) = (panel for panel in PANELS if panel.title == "Lost")
    records = {query.legend: query.expr for query in panel.queries}["records"]
    series = {"series": 'tokenmill_records_lost_total{namespace="n", job="tm", instance="a"}', "values": samples}
    asked = {"expr": filled_in(records), "eval_time": "100m", "exp_samples": [{"labels": "{}", "value": lost}]}
    path = tmp_path / "lost.yaml"
    tests = [{"interval": "30s", "input_series": [series], "promql_expr_test": [asked]}]
    path.write_text(yaml.safe_dump({"tests": tests}))
    assert "SUCCESS" in promtool("test", "rules", path)
