"""The dashboard's row about callers: the outcome of requests, how long models take, what is short."""

from tokenmill.gen.panel import (
    WORKERS,
    Query,
    Row,
    heat_map,
    lines,
    quantiles,
    rate_by,
    rates,
    stat,
    total,
    versions,
)

FIRST_TOKEN = "tokenmill_caller_first_token_seconds"  # noqa: S105 # a metric's name

_RUNNING = total("tokenmill_caller_running", "instance")
_ALLOWED = total("tokenmill_caller_running_limit", "instance")

CALLERS = Row(
    "Callers",
    (
        versions("Callers", "By version. Includes fronts that call models themselves.", "tokenmill_caller_build_info"),
        stat(
            "URLs left alone",
            "Model servers that kept failing in the last minutes, by the caller that reports most.",
            f"max(max_over_time(tokenmill_caller_urls_left_alone{{{WORKERS}}}[5m]))",
            red=1,
        ),
        stat(
            "Fullest caller",
            "Share of the answers that `caller.answers` allows. At 100 % further ones are told to come later.",
            Query(f"max({_RUNNING} / {_ALLOWED})", "the fullest"),
            unit="percentunit",
            red=0.9,
        ),
        stat(
            "Partitions with a caller",
            "Equals the number of partitions of `requests`, except during a takeover.",
            total("tokenmill_caller_partitions"),
        ),
        stat(
            "Progress unknown",
            "Requests that a lost caller may have begun. Back at 0 within seconds.",
            total("tokenmill_caller_inherited"),
        ),
        stat(
            "Parsed by their servers",
            "Answers of the last hour. A parser of their server is on, and may remove calls: see the log.",
            f"sum(increase(tokenmill_caller_parsed_total{{{WORKERS}}}[1h]))",
            red=1,
        ),
        rates(
            "Outcome of requests",
            "A whole answer, a part, nothing; late; or no longer wanted.",
            rate_by("tokenmill_caller_answers_total", "outcome"),
        ),
        rates(
            "Failures of model servers",
            "By kind, after the last try.",
            rate_by("tokenmill_caller_failures_total", "kind"),
        ),
        rates(
            "Taken over",
            "Requests that another caller may have begun, by outcome.",
            rate_by("tokenmill_caller_inherited_total", "fate"),
        ),
        lines(
            "Answers under way",
            "Includes those that wait for a place at a model server.",
            Query(total("tokenmill_caller_running"), "under way"),
            Query(total("tokenmill_caller_waiting"), "waiting"),
        ),
        lines(
            "Request to first token",
            "From accepting a request to the model's first token, including the wait for a place.",
            *quantiles(FIRST_TOKEN),
            unit="s",
        ),
        heat_map("Request to first token, all of them", "As a heat map.", FIRST_TOKEN),
    ),
)
