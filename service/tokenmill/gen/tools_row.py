"""The dashboard's row about tools: the outcome of calls, how long they take, what they wait for."""

from tokenmill.gen.panel import WORKERS, Query, Row, heat_map, lines, quantiles, rate_by, rates, stat, total, versions

DURATION = "tokenmill_tools_call_duration_seconds"

_RUNNING = total("tokenmill_tools_running", "instance")
_ALLOWED = total("tokenmill_tools_running_limit", "instance")

TOOLS = Row(
    "Tools",
    (
        versions("Runners", "By version.", "tokenmill_tools_build_info"),
        stat(
            "Servers away",
            "Calls of their tools are answered as `unavailable`.",
            f"count(tokenmill_tools_server_up{{{WORKERS}}} == 0) or vector(0)",
            red=1,
        ),
        stat(
            "Fullest runner",
            "Share of the calls that `tools.calls` allows to run at once. At 100 % others wait.",
            Query(f"max({_RUNNING} / {_ALLOWED})", "the fullest"),
            unit="percentunit",
            red=0.9,
        ),
        stat(
            "Partitions with a runner",
            "Equals the number of partitions of `tool-calls`, except during a takeover.",
            total("tokenmill_tools_partitions"),
        ),
        rates(
            "Outcome of calls",
            "A result, or the code of an error. `in-doubt`: the runner was lost.",
            rate_by("tokenmill_tools_calls_total", "outcome"),
        ),
        lines(
            "Calls",
            "Running at their servers, and waiting for a place, or for a person.",
            Query(total("tokenmill_tools_running"), "running"),
            Query(total("tokenmill_tools_waiting"), "waiting"),
            Query(total("tokenmill_tools_asking"), "asking"),
        ),
        lines("How long calls take", "From the request to the answer.", *quantiles(DURATION), unit="s"),
        heat_map("How long calls take, all of them", "From the request to the answer.", DURATION),
    ),
)
