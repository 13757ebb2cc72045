"""What can be seen of a process from outside: metrics, logs, hooks."""

from tokenmill.observe.gateway_table import GATEWAY_METRICS
from tokenmill.observe.hooks import Hooks
from tokenmill.observe.logs import setup_logs
from tokenmill.observe.numbers import Histogram, Numbers, exposition
from tokenmill.observe.table import LOG_CHANGES, METRICS, RESTORE_SOURCES, Metric
from tokenmill.observe.tools_table import TOOLS_METRICS

__all__ = [
    "GATEWAY_METRICS",
    "LOG_CHANGES",
    "METRICS",
    "RESTORE_SOURCES",
    "TOOLS_METRICS",
    "Histogram",
    "Hooks",
    "Metric",
    "Numbers",
    "exposition",
    "setup_logs",
]
