"""The page of the metrics."""

from tokenmill.gen import metrics
from tokenmill.observe import GATEWAY_METRICS, METRICS


def test_every_metric_is_on_the_page() -> None:
    """Name, kind and labels of each row."""
    page = metrics.page()
    for metric in (*METRICS, *GATEWAY_METRICS):
        assert f"| `{metric.name}` | {metric.kind} | {', '.join(f'`{label}`' for label in metric.labels)} |" in page
