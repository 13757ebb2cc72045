"""The dashboard's row about tools: the outcome of calls, how long they take, what they wait for."""

from tokenmill.gen.panel import WORKERS, Panel, Query, Row, buckets, quantiles, rate, total

DURATION = "tokenmill_tools_call_duration_seconds"

_RUNNING = total("tokenmill_tools_running", "instance")
_ALLOWED = total("tokenmill_tools_running_limit", "instance")

TOOLS = Row(
    "Tools",
    (
        Panel(
            title="Runners",
            text="By version.",
            queries=(Query(f"count by (version) (tokenmill_tools_build_info{{{WORKERS}}})", "{{version}}"),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="Servers away",
            text="Calls of their tools are answered as `unavailable`.",
            queries=(Query(f"count(tokenmill_tools_server_up{{{WORKERS}}} == 0) or vector(0)"),),
            kind="stat",
            width=4,
            red=1,
        ),
        Panel(
            title="Fullest runner",
            text="Share of the calls that `tools.calls` allows to run at once. At 100 % others wait.",
            queries=(Query(f"max({_RUNNING} / {_ALLOWED})", "the fullest"),),
            kind="stat",
            unit="percentunit",
            width=4,
            red=0.9,
        ),
        Panel(
            title="Partitions with a runner",
            text="Equals the number of partitions of `tool-calls`, except during a takeover.",
            queries=(Query(total("tokenmill_tools_partitions")),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="Outcome of calls",
            text="A result, or the code of an error. `in-doubt`: the runner was lost.",
            queries=(Query(rate("tokenmill_tools_calls_total", "outcome"), "{{outcome}}"),),
            unit="ops",
        ),
        Panel(
            title="Calls",
            text="Running at their servers, and waiting for a place, or for a person.",
            queries=(
                Query(total("tokenmill_tools_running"), "running"),
                Query(total("tokenmill_tools_waiting"), "waiting"),
                Query(total("tokenmill_tools_asking"), "asking"),
            ),
        ),
        Panel(
            title="How long calls take",
            text="From the request to the answer.",
            queries=quantiles(DURATION),
            unit="s",
        ),
        Panel(
            title="How long calls take, all of them",
            text="From the request to the answer.",
            queries=buckets(DURATION),
            kind="heatmap",
            unit="s",
        ),
    ),
)
