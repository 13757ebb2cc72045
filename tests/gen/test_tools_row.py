"""What the dashboard shows of tools."""

from tokenmill.gen.tools_row import TOOLS
from tokenmill.observe import TOOLS_METRICS


def test_the_row_asks_for_nothing_else() -> None:
    """All that it shows is of the processes that run tools."""
    names = {metric.name for metric in TOOLS_METRICS}
    for panel in TOOLS.panels:
        for query in panel.queries:
            assert any(name in query.expr for name in names), panel.title
