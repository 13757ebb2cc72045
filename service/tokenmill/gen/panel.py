"""A panel of the dashboard, and its Prometheus queries, built from the names of metrics."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["stat", "timeseries", "heatmap"]

WORKERS = 'namespace=~"$namespace", job=~"$job", instance=~"$instance"'
"""Selector of the chosen workers."""

GROUP = 'namespace=~"$namespace", job=~"$job"'
"""Selector of all workers, for series that a recording rule has already summed."""

RATE = "[$__rate_interval]"


class Query(msgspec.Struct, frozen=True):
    """An expression, and the name of its lines: `{{label}}` stands for a label's value."""

    expr: str
    legend: str = ""


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One rectangle. `width` is in Grafana's 24 columns; `red` is the value from which it is red."""

    title: str
    text: str
    queries: tuple[Query, ...]
    kind: Kind = "timeseries"
    unit: str = "short"
    width: int = 8
    red: float | None = None


class Row(msgspec.Struct, frozen=True):
    """A title and the panels below it."""

    title: str
    panels: tuple[Panel, ...]


def rate(metric: str, by: str = "", where: str = "") -> str:
    """Return a counter's rate, summed by a label."""
    selector = f"{WORKERS}, {where}" if where else WORKERS
    return f"sum{f' by ({by})' if by else ''} (rate({metric}{{{selector}}}{RATE}))"


def total(metric: str, by: str = "") -> str:
    """Return a gauge, summed by a label."""
    return f"sum{f' by ({by})' if by else ''} ({metric}{{{WORKERS}}})"


def rate_by(metric: str, *labels: str, where: str = "") -> Query:
    """Return a counter's rate as a line for each value of the labels."""
    return Query(rate(metric, ", ".join(labels), where), _legend(labels))


def total_by(metric: str, *labels: str) -> Query:
    """Return a gauge as a line for each value of the labels."""
    return Query(total(metric, ", ".join(labels)), _legend(labels))


def _legend(labels: Iterable[str]) -> str:
    return " ".join(f"{{{{{label}}}}}" for label in labels)


def within(metric: str, where: str = "") -> str:
    """Return a counter's increase in the time shown; 0 if it has never counted.

    A series that begins within that time counts whole: `increase` has no 0 to count its first sample from.
    """
    series = f"{metric}{{{WORKERS}, {where}}}" if where else f"{metric}{{{WORKERS}}}"
    began = f"sum(last_over_time({series}[$__range]) unless {series} offset $__range)"
    gained = f"sum(increase({series}[$__range]) and {series} offset $__range)"
    return f"({began} or vector(0)) + ({gained} or vector(0))"


def quantiles(histogram: str) -> tuple[Query, ...]:
    """Return the median, the 95th and the 99th percentile."""
    buckets = rate(f"{histogram}_bucket", "le")
    return tuple(Query(f"histogram_quantile({q}, {buckets})", f"p{q * 100:g}") for q in (0.5, 0.95, 0.99))


def buckets(histogram: str) -> tuple[Query, ...]:
    """Return a histogram over time."""
    return (Query(rate(f"{histogram}_bucket", "le"), "{{le}}"),)


# Panels: a query without a legend is an expression alone


def stat(title: str, text: str, *queries: Query | str, unit: str = "short", red: float | None = None) -> Panel:
    """Return a panel with a figure for each query."""
    return Panel(title=title, text=text, queries=_asked(queries), kind="stat", unit=unit, width=4, red=red)


def versions(title: str, text: str, build_info: str) -> Panel:
    """Return a panel with the number of processes of each version."""
    return stat(title, text, Query(f"count by (version) ({build_info}{{{WORKERS}}})", "{{version}}"))


def lines(
    title: str, text: str, *queries: Query | str, unit: str = "short", width: int = 8, red: float | None = None
) -> Panel:
    """Return a panel with lines over time."""
    return Panel(title=title, text=text, queries=_asked(queries), unit=unit, width=width, red=red)


def rates(title: str, text: str, *queries: Query | str, width: int = 8) -> Panel:
    """Return a panel with lines of events a second."""
    return lines(title, text, *queries, unit="ops", width=width)


def heat_map(title: str, text: str, histogram: str) -> Panel:
    """Return a panel with a histogram of seconds over time."""
    return Panel(title=title, text=text, queries=buckets(histogram), kind="heatmap", unit="s")


def _asked(queries: Iterable[Query | str]) -> tuple[Query, ...]:
    return tuple(query if isinstance(query, Query) else Query(query) for query in queries)
