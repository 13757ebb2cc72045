"""The page of the metrics."""

from tokenmill.gen import metrics
from tokenmill.observe import CALLER_METRICS, FRONT_METRICS, GATEWAY_METRICS, METRICS, TOOLS_METRICS


def test_every_metric_is_on_the_page() -> None:
    """Name, kind and labels of each row."""
    page = metrics.page()
    for metric in (*METRICS, *GATEWAY_METRICS, *TOOLS_METRICS, *FRONT_METRICS, *CALLER_METRICS):
        assert f"| `{metric.name}` | {metric.kind} | {', '.join(f'`{label}`' for label in metric.labels)} |" in page
