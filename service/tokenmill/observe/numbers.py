"""The numbers behind the metrics, and how Prometheus reads them.

Counting must cost nothing per token: the partition counts in plain integers, which are moved here when the metrics are
read; latencies of a whole batch go into a histogram with one binary search per bucket.
"""

import platform
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import TypeAlias

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from tokenmill.observe.table import METRICS, Metric
from tokenmill.partition import Tally

Labels: TypeAlias = tuple[str, ...]
Reading: TypeAlias = Iterable[tuple[Labels, float]]

_TALLIES = {metric.tally: metric.name for metric in METRICS if metric.tally}


class Histogram:
    """Counts by bucket, filled in batches."""

    __slots__ = ("bounds", "count", "cumulative", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.cumulative = [0] * len(bounds)
        self.count = 0
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one value."""
        self.count += 1
        self.total += seconds
        for index in range(bisect_left(self.bounds, seconds), len(self.bounds)):
            self.cumulative[index] += 1

    def observe_since(self, timestamps: list[int], now: float) -> None:
        """Count the age of each timestamp, in milliseconds since the epoch like `now`. Sorts the list in place."""
        if not timestamps:
            return
        timestamps.sort()
        self.count += len(timestamps)
        # A producer's clock may be ahead of ours; nothing takes less than no time.
        future = len(timestamps) - bisect_left(timestamps, now)
        self.total += (now * len(timestamps) - sum(timestamps)) / 1000 if not future else self._past(timestamps, now)
        for index, bound in enumerate(self.bounds):
            self.cumulative[index] += len(timestamps) - bisect_left(timestamps, now - bound * 1000)

    @staticmethod
    def _past(timestamps: list[int], now: float) -> float:
        return sum(now - timestamp for timestamp in timestamps if timestamp < now) / 1000


class Numbers(Collector):
    """All numbers of one process. Names and labels are those of its table; anything else is a bug and raises."""

    def __init__(self, rows: Sequence[Metric] = METRICS) -> None:
        self._rows = {row.name: row for row in rows}
        self._counters: dict[str, defaultdict[Labels, float]] = defaultdict(lambda: defaultdict(float))
        self._readings: dict[str, Callable[[], Reading]] = {}
        self.histograms = {row.name: Histogram(row.buckets) for row in rows if row.kind == "histogram"}
        for name in self._rows:
            if name.endswith("_build_info"):
                self.read(name, lambda: [((version("tokenmill"), platform.python_version()), 1)])

    def add(self, name: str, *labels: str, by: float = 1) -> None:
        """Add to a counter."""
        if len(labels) != len(self._rows[name].labels):
            raise ValueError(f"{name} has the labels {self._rows[name].labels}")
        self._counters[name][labels] += by

    def take(self, tally: Tally) -> None:
        """Add the partition's counts."""
        for field, name in _TALLIES.items():
            counter = self._counters[name]
            for label, count in getattr(tally, field).items():
                counter[label if isinstance(label, tuple) else (label,)] += count

    def read(self, name: str, reading: Callable[[], Reading]) -> None:
        """Register a gauge, or a counter that is kept elsewhere: `reading` is called when the metrics are read."""
        self._rows[name]
        self._readings[name] = reading

    def read_value(self, name: str, value: Callable[[], float]) -> None:
        """Register a gauge or counter without labels, likewise."""
        self.read(name, lambda: [((), value())])

    def value(self, name: str, *labels: str) -> float:
        """The current value of a counter or gauge."""
        if name in self._readings:
            return self._read(name).get(labels, 0)
        return self._counters[name][labels]

    def _read(self, name: str) -> dict[Labels, float]:
        return dict(self._readings.get(name, tuple)())

    def collect(self) -> Iterator[Family]:
        """Every row of the table, for `prometheus_client`."""
        for metric in self._rows.values():
            yield self._family(metric)

    def _family(self, metric: Metric) -> Family:
        if metric.kind == "histogram":
            histogram = self.histograms[metric.name]
            buckets = [(str(b), float(c)) for b, c in zip(histogram.bounds, histogram.cumulative, strict=True)]
            buckets.append(("+Inf", float(histogram.count)))
            return HistogramMetricFamily(metric.name, metric.help, buckets=buckets, sum_value=histogram.total)
        family: Family
        if metric.kind == "gauge":
            family = gauge = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
            for labels, value in self._read(metric.name).items():
                gauge.add_metric(labels, value)
            return family
        family = counter = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
        known = metric.known if metric.labels else ((),)
        counted = self._counters[metric.name] | self._read(metric.name)
        for labels, value in {**dict.fromkeys(known, 0), **counted}.items():
            counter.add_metric(labels, value)
        return family


def exposition(numbers: Numbers) -> Callable[[], bytes]:
    """The content of `/metrics`: the table's metrics, and the process's own (memory, CPU, files)."""
    registry = CollectorRegistry()
    registry.register(numbers)
    ProcessCollector(registry=registry)
    return lambda: generate_latest(registry)
