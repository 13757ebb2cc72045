"""Every metric of those that call models, as data, as `table` has those of the worker.

No model, URL or client is a label: each has outcomes that all share, and the log says more.
"""

from tokenmill.observe.table import Metric, each

OUTCOMES = ("finished", "failed", "refused", "expired", "stopped")
"""What came of a request: all of it; half of it; nothing; not in time; nobody wanted it any more."""

FAILURES = ("refused", "connect", "slow", "broken-off", "unreadable", "full", "late")
"""What was wrong with a model server."""

FATES = ("over", "called-again", "continued", "failed", "stopped")
"""What became of a request that another caller may have begun."""

FIRST_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds. A short prompt takes tenths of one, a long one minutes."""

CALLER_METRICS: tuple[Metric, ...] = (
    Metric(
        "tokenmill_caller_answers_total",
        "counter",
        "Requests that are over, by what came of them.",
        ("outcome",),
        known=each(OUTCOMES),
    ),
    Metric(
        "tokenmill_caller_failures_total",
        "counter",
        "Answers that a model server failed at for good, by how.",
        ("kind",),
        known=each(FAILURES),
    ),
    Metric(
        "tokenmill_caller_first_token_seconds",
        "histogram",
        "From when a request was taken until its first token came, the wait for a place included.",
        buckets=FIRST_BUCKETS,
    ),
    Metric(
        "tokenmill_caller_inherited_total",
        "counter",
        "Requests that another caller may have begun, by what became of them.",
        ("fate",),
        known=each(FATES),
    ),
    Metric("tokenmill_caller_running", "gauge", "Answers under way, those that wait for a place included."),
    Metric("tokenmill_caller_running_limit", "gauge", "Of those, what `caller.answers` allows."),
    Metric("tokenmill_caller_waiting", "gauge", "Answers that wait for a place at a model server."),
    Metric("tokenmill_caller_inherited", "gauge", "Requests of which it is not known yet how far they have come."),
    Metric("tokenmill_caller_urls_left_alone", "gauge", "URLs of model servers that failed again and again."),
    Metric("tokenmill_caller_partitions", "gauge", "Partitions of requests that are read."),
    Metric("tokenmill_caller_build_info", "gauge", "Always 1, with the versions that run.", ("version", "python")),
)
