"""Observing a process from outside: metrics, logs, hooks."""

from tokenmill.observe.caller_table import CALLER_METRICS
from tokenmill.observe.front_table import FRONT_METRICS
from tokenmill.observe.gateway_table import GATEWAY_METRICS
from tokenmill.observe.hooks import Hooks
from tokenmill.observe.logs import setup_logs
from tokenmill.observe.numbers import Histogram, Numbers, exposition
from tokenmill.observe.table import LOG_CHANGES, METRICS, RESTORE_SOURCES, Metric
from tokenmill.observe.tools_table import TOOLS_METRICS

__all__ = [
    "CALLER_METRICS",
    "FRONT_METRICS",
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
