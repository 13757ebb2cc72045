"""A panel of the dashboard, and its questions to Prometheus, put together from the names of metrics."""

from typing import Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["stat", "timeseries", "heatmap"]

WORKERS = 'namespace=~"$namespace", job=~"$job", instance=~"$instance"'
"""The workers that are looked at."""

GROUP = 'namespace=~"$namespace", job=~"$job"'
"""All workers, for what a recording rule has added up already."""

RATE = "[$__rate_interval]"


class Query(msgspec.Struct, frozen=True):
    """An expression, and what its lines are called: `{{label}}` stands for a label's value."""

    expr: str
    legend: str = ""


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One rectangle. `width` is in Grafana's 24 columns; `red` is the value from which on it is red."""

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
    """A counter's rate, added up by a label."""
    selector = f"{WORKERS}, {where}" if where else WORKERS
    return f"sum{f' by ({by})' if by else ''} (rate({metric}{{{selector}}}{RATE}))"


def total(metric: str, by: str = "") -> str:
    """A gauge, added up by a label."""
    return f"sum{f' by ({by})' if by else ''} ({metric}{{{WORKERS}}})"


def within(metric: str, where: str = "") -> str:
    """Return what a counter gained in the time shown: 0 where it has never counted.

    A series that begins within that time counts whole: `increase` has no 0 to count its first sample from.
    """
    series = f"{metric}{{{WORKERS}, {where}}}" if where else f"{metric}{{{WORKERS}}}"
    began = f"sum(last_over_time({series}[$__range]) unless {series} offset $__range)"
    gained = f"sum(increase({series}[$__range]) and {series} offset $__range)"
    return f"({began} or vector(0)) + ({gained} or vector(0))"


def quantiles(histogram: str) -> tuple[Query, ...]:
    """The median, and what 5 and 1 of a hundred exceed."""
    buckets = rate(f"{histogram}_bucket", "le")
    return tuple(Query(f"histogram_quantile({q}, {buckets})", f"p{q * 100:g}") for q in (0.5, 0.95, 0.99))


def buckets(histogram: str) -> tuple[Query, ...]:
    """A histogram over time."""
    return (Query(rate(f"{histogram}_bucket", "le"), "{{le}}"),)
