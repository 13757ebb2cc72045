"""Every metric of the callers of models, as data, as in `table` for the worker.

No model, URL or client is a label: all share the same outcomes, and the log has the details.
"""

from typing import Literal, TypeAlias, get_args

from tokenmill.observe.table import Metric, each

Outcome: TypeAlias = Literal["finished", "failed", "refused", "expired", "stopped"]
"""How a request ended: with a whole answer; with part of one; refused by the server; not in time; no longer wanted."""

FailureKind: TypeAlias = Literal["refused", "connect", "slow", "broken-off", "unreadable", "full", "late"]
"""How a model server failed to answer."""

Fate: TypeAlias = Literal["over", "called-again", "continued", "failed", "stopped"]
"""What became of a request that another caller may have begun: it had ended, another caller has it, or only its end was
missing; nothing had come of it; it was continued; it could not be; it was stopped before it had begun."""

Sign: TypeAlias = Literal["calls", "reasoning", "nothing"]
"""What shows that a server of raw text parses it: calls or reasoning beside the text; tokens, but no text."""

FIRST_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds in seconds: a short prompt takes tenths of one, a long one minutes."""

CALLER_METRICS: tuple[Metric, ...] = (
    Metric(
        "tokenmill_caller_answers_total",
        "counter",
        "Finished requests, by outcome.",
        ("outcome",),
        known=each(get_args(Outcome)),
    ),
    Metric(
        "tokenmill_caller_failures_total",
        "counter",
        "Answers that a model server finally failed to give, by kind of failure.",
        ("kind",),
        known=each(get_args(FailureKind)),
    ),
    Metric(
        "tokenmill_caller_parsed_total",
        "counter",
        "Answers that a server of raw text has parsed itself, by the sign of it. Its flags are wrong: see the log.",
        ("sign",),
        known=each(get_args(Sign)),
    ),
    Metric(
        "tokenmill_caller_first_token_seconds",
        "histogram",
        "From accepting a request until its first token, including the wait for a place.",
        buckets=FIRST_BUCKETS,
    ),
    Metric(
        "tokenmill_caller_inherited_total",
        "counter",
        "Requests that another caller may have begun, by their fate.",
        ("fate",),
        known=each(get_args(Fate)),
    ),
    Metric("tokenmill_caller_running", "gauge", "Answers under way, including those that wait for a place."),
    Metric("tokenmill_caller_running_limit", "gauge", "Answers under way that `caller.answers` allows."),
    Metric("tokenmill_caller_waiting", "gauge", "Answers that wait for a place at a model server."),
    Metric("tokenmill_caller_inherited", "gauge", "Requests of another caller whose progress is not known yet."),
    Metric(
        "tokenmill_caller_urls_left_alone", "gauge", "URLs of model servers that rest because they failed repeatedly."
    ),
    Metric("tokenmill_caller_partitions", "gauge", "Partitions of requests that are read."),
    Metric(
        "tokenmill_caller_build_info", "gauge", "Always 1; the labels name the running versions.", ("version", "python")
    ),
)
