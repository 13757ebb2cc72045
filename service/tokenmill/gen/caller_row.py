"""The dashboard's row about callers: the outcome of requests, how long models take, what is short."""

from tokenmill.gen.panel import WORKERS, Panel, Query, Row, buckets, quantiles, rate, total

FIRST_TOKEN = "tokenmill_caller_first_token_seconds"  # noqa: S105 # a metric's name

_RUNNING = total("tokenmill_caller_running", "instance")
_ALLOWED = total("tokenmill_caller_running_limit", "instance")

CALLERS = Row(
    "Callers",
    (
        Panel(
            title="Callers",
            text="By version. Includes fronts that call models themselves.",
            queries=(Query(f"count by (version) (tokenmill_caller_build_info{{{WORKERS}}})", "{{version}}"),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="URLs left alone",
            text="Model servers that kept failing in the last minutes, by the caller that reports most.",
            queries=(Query(f"max(max_over_time(tokenmill_caller_urls_left_alone{{{WORKERS}}}[5m]))"),),
            kind="stat",
            width=4,
            red=1,
        ),
        Panel(
            title="Fullest caller",
            text="Share of the answers that `caller.answers` allows. At 100 % further ones are told to come later.",
            queries=(Query(f"max({_RUNNING} / {_ALLOWED})", "the fullest"),),
            kind="stat",
            unit="percentunit",
            width=4,
            red=0.9,
        ),
        Panel(
            title="Partitions with a caller",
            text="Equals the number of partitions of `requests`, except during a takeover.",
            queries=(Query(total("tokenmill_caller_partitions")),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="Progress unknown",
            text="Requests that a lost caller may have begun. Back at 0 within seconds.",
            queries=(Query(total("tokenmill_caller_inherited")),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="Parsed by their servers",
            text="Answers of the last hour. A parser of their server is on, and may remove calls: see the log.",
            queries=(Query(f"sum(increase(tokenmill_caller_parsed_total{{{WORKERS}}}[1h]))"),),
            kind="stat",
            width=4,
            red=1,
        ),
        Panel(
            title="Outcome of requests",
            text="A whole answer, a part, nothing; late; or no longer wanted.",
            queries=(Query(rate("tokenmill_caller_answers_total", "outcome"), "{{outcome}}"),),
            unit="ops",
        ),
        Panel(
            title="Failures of model servers",
            text="By kind, after the last try.",
            queries=(Query(rate("tokenmill_caller_failures_total", "kind"), "{{kind}}"),),
            unit="ops",
        ),
        Panel(
            title="Taken over",
            text="Requests that another caller may have begun, by outcome.",
            queries=(Query(rate("tokenmill_caller_inherited_total", "fate"), "{{fate}}"),),
            unit="ops",
        ),
        Panel(
            title="Answers under way",
            text="Includes those that wait for a place at a model server.",
            queries=(
                Query(total("tokenmill_caller_running"), "under way"),
                Query(total("tokenmill_caller_waiting"), "waiting"),
            ),
        ),
        Panel(
            title="Request to first token",
            text="From accepting a request to the model's first token, including the wait for a place.",
            queries=quantiles(FIRST_TOKEN),
            unit="s",
        ),
        Panel(
            title="Request to first token, all of them",
            text="As a heat map.",
            queries=buckets(FIRST_TOKEN),
            kind="heatmap",
            unit="s",
        ),
    ),
)
