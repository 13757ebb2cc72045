"""The page of the worker's metrics."""

from tokenmill.gen import markdown
from tokenmill.observe.table import METRICS, Metric


def page() -> str:
    """Every row of the table of metrics."""
    rows = [(markdown.code(metric.name), metric.kind, _labels(metric), metric.help) for metric in METRICS]
    return markdown.page(
        "Metrics",
        "The worker answers `/metrics` on `worker.port` in the Prometheus text format.\n"
        "No label takes values without a bound: conversations, messages and error texts are no labels.",
        markdown.table(("name", "kind", "labels", "says"), rows),
        "A histogram has the suffixes `_bucket`, `_sum` and `_count`. Its buckets, in seconds:",
        markdown.table(
            ("name", "up to"),
            [
                (markdown.code(metric.name), ", ".join(f"{bound:g}" for bound in metric.buckets))
                for metric in METRICS
                if metric.buckets
            ],
        ),
    )


def _labels(metric: Metric) -> str:
    return ", ".join(markdown.code(label) for label in metric.labels)
