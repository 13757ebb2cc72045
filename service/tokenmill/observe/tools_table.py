"""Every metric of the tool runners, as data, as in `table` for the worker.

The only names that are labels are those of servers, all of which are in the file of servers.
"""

from typing import Literal, TypeAlias, get_args

from tokenmill.observe.table import Metric, each

Code: TypeAlias = Literal[
    "unknown-tool",
    "schema-mismatch",
    "limit",
    "denied",
    "cancelled",
    "unavailable",
    "expired",
    "tool",
    "protocol",
    "transport",
    "timeout",
    "in-doubt",
]
"""Why a call has no result."""

CALL_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
"""Upper bounds in seconds: a tool that looks something up takes hundredths of one, one that builds takes minutes."""

TOOLS_METRICS: tuple[Metric, ...] = (
    Metric(
        "tokenmill_tools_calls_total",
        "counter",
        "Answered calls, by outcome.",
        ("outcome",),
        known=each(("result", *get_args(Code))),
    ),
    Metric(
        "tokenmill_tools_call_duration_seconds",
        "histogram",
        "Duration of calls that were made, from the request to the answer.",
        buckets=CALL_BUCKETS,
    ),
    Metric(
        "tokenmill_tools_running", "gauge", "Calls running at their servers, and calls whose results are being written."
    ),
    Metric("tokenmill_tools_waiting", "gauge", "Calls that wait for a place."),
    Metric("tokenmill_tools_asking", "gauge", "Calls that wait for a person's approval."),
    Metric("tokenmill_tools_running_limit", "gauge", "Running calls that `tools.calls` allows."),
    Metric("tokenmill_tools_partitions", "gauge", "Partitions that were taken over and are being read."),
    Metric("tokenmill_tools_server_up", "gauge", "Whether a server is connected: 1, or 0.", ("server",)),
    Metric(
        "tokenmill_tools_build_info", "gauge", "Always 1; the labels name the running versions.", ("version", "python")
    ),
)
