"""Every metric of those that run tools, as data, as `table` has those of the worker.

The only names that are labels are those of servers, of which the file of servers has all.
"""

from tokenmill.observe.table import Metric, each

OUTCOMES = (
    "result",
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
)
"""What comes of a call: a result, or the code that says why there is none."""

CALL_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
"""Seconds. A tool that looks something up takes some hundredths of one, one that builds something takes minutes."""

TOOLS_METRICS: tuple[Metric, ...] = (
    Metric(
        "tokenmill_tools_calls_total",
        "counter",
        "Calls that were answered, by what came of them.",
        ("outcome",),
        known=each(OUTCOMES),
    ),
    Metric(
        "tokenmill_tools_call_duration_seconds",
        "histogram",
        "How long those calls took that were made, from the request to the answer.",
        buckets=CALL_BUCKETS,
    ),
    Metric("tokenmill_tools_running", "gauge", "Calls at their servers, and those whose results are being written."),
    Metric("tokenmill_tools_waiting", "gauge", "Calls that wait for a place."),
    Metric("tokenmill_tools_asking", "gauge", "Calls that wait for a person."),
    Metric("tokenmill_tools_running_limit", "gauge", "Of calls that run, what `tools.calls` allows."),
    Metric("tokenmill_tools_partitions", "gauge", "Partitions that were taken over, and are read."),
    Metric("tokenmill_tools_server_up", "gauge", "Whether a server is connected: 1, or 0.", ("server",)),
    Metric("tokenmill_tools_build_info", "gauge", "Always 1, with the versions that run.", ("version", "python")),
)
