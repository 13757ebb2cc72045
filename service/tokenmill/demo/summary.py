"""The demo's closing report: events by type, latencies, and the worker's counters."""

from collections import Counter
from collections.abc import Sequence
from statistics import quantiles
from typing import Self

import msgspec
from rich.console import Console

from tokenmill.demo.collect import Collector
from tokenmill.demo.metrics import Metrics
from tokenmill.terminal.tables import print_table


class Phase(msgspec.Struct, frozen=True):
    """What was received in one part of the demo."""

    name: str
    types: Counter[str]
    latencies_ms: list[float]

    @classmethod
    def of(cls, name: str, collector: Collector, before: "Phase | None" = None) -> Self:
        """Return what the collector has now, without what it had before."""
        types = collector.types - (before.types if before else Counter())
        seen = len(before.latencies_ms) if before else 0
        return cls(name, types, collector.latencies_ms[seen:])

    def latency(self, percent: int) -> str:
        """A percentile in milliseconds."""
        return f"{quantiles(self.latencies_ms, n=100)[percent - 1]:.0f} ms"


COUNTERS = (
    ("chunks consumed", "tokenmill_chunks_consumed_total", "codec"),
    ("tool calls", "tokenmill_tool_calls_total", "outcome"),
    ("parse errors", "tokenmill_parse_errors_total", "reason"),
    ("dead letters", "tokenmill_dead_letters_total", "reason"),
    ("partitions restored", "tokenmill_restores_total", "source"),
    ("rebalances", "tokenmill_rebalances_total", ""),
    ("redis errors", "tokenmill_redis_errors_total", "op"),
)
"""Title, counter, and the label that splits it."""

LATENCY = "tokenmill_chunk_to_event_latency_seconds"


def print_summary(console: Console, phases: Sequence[Phase], metrics: Metrics) -> None:
    """Print everything as tables."""
    console.print()
    _print_events(console, phases)
    _print_latencies(console, phases, metrics)
    _print_worker(console, metrics)


def _print_events(console: Console, phases: Sequence[Phase]) -> None:
    types = sorted({type_ for phase in phases for type_ in phase.types})
    rows = [[type_, *(str(phase.types[type_]) for phase in phases)] for type_ in types]
    rows.append(["all", *(str(phase.types.total()) for phase in phases)])
    print_table(console, ["events", *(phase.name for phase in phases)], rows, right=len(phases))


def _print_latencies(console: Console, phases: Sequence[Phase], metrics: Metrics) -> None:
    console.print()
    rows = [[phase.name, phase.latency(50), phase.latency(99)] for phase in phases]
    rows.append(["as the worker counts, to acknowledged", _at_most(metrics, 0.5), _at_most(metrics, 0.99)])
    print_table(console, ["from token published to event received", "p50", "p99"], rows, right=2)


def _at_most(metrics: Metrics, share: float) -> str:
    bound = metrics.quantile(LATENCY, share)
    return "unknown" if bound is None else f"≤ {bound * 1_000:.0f} ms"


def _print_worker(console: Console, metrics: Metrics) -> None:
    console.print()
    rows = []
    for name, counter, label in COUNTERS:
        values = metrics.by_label(counter, label)
        rows.append([name, str(sum(values.values())), _split(values)])
    print_table(console, ["the worker's /metrics", "total", ""], rows)


def _split(values: dict[str, int]) -> str:
    return ", ".join(f"{label} {count}" for label, count in sorted(values.items()) if label)
