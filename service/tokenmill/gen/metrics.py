"""The page of the metrics: those of each kind of process."""

from collections.abc import Sequence

from tokenmill.gen import markdown
from tokenmill.observe import CALLER_METRICS, FRONT_METRICS, GATEWAY_METRICS, METRICS, TOOLS_METRICS, Metric


def page() -> str:
    """Return the page, with every row of all tables."""
    return markdown.page(
        "Metrics",
        "Each process answers `/metrics` in the Prometheus text format.\n"
        "No label has unbounded values: conversations, messages and error texts are not labels.",
        "## Worker",
        "On `worker.port`.",
        _table(METRICS),
        "## Gateway",
        "On `gateway.ops_port`.",
        _table(GATEWAY_METRICS),
        "## Tools",
        "On `tools.port`.",
        _table(TOOLS_METRICS),
        "## Front",
        "On `front.ops_port`.",
        _table(FRONT_METRICS),
        "## Caller",
        "On `caller.port`, or the front's.",
        _table(CALLER_METRICS),
        "## Buckets",
        "A histogram has the suffixes `_bucket`, `_sum` and `_count`. Its buckets, in seconds:",
        markdown.table(
            ("name", "up to"),
            [
                (markdown.code(metric.name), ", ".join(f"{bound:g}" for bound in metric.buckets))
                for metric in (*METRICS, *GATEWAY_METRICS, *TOOLS_METRICS, *FRONT_METRICS, *CALLER_METRICS)
                if metric.buckets
            ],
        ),
    )


def _table(metrics: Sequence[Metric]) -> str:
    rows = [(markdown.code(metric.name), metric.kind, _labels(metric), metric.help) for metric in metrics]
    return markdown.table(("name", "kind", "labels", "meaning"), rows)


def _labels(metric: Metric) -> str:
    return ", ".join(markdown.code(label) for label in metric.labels)
