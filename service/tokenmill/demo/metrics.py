"""Read a worker's `/metrics` page: sums of counters, quantiles of histograms."""

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


class Metrics:
    """One reading of the page."""

    def __init__(self, page: str) -> None:
        self._samples: list[Sample] = [
            sample for family in text_string_to_metric_families(page) for sample in family.samples
        ]

    def by_label(self, name: str, label: str) -> dict[str, int]:
        """Return a counter's values, summed over all labels but one; those at 0 are left out."""
        sums: dict[str, int] = {}
        for sample in self._samples:
            if sample.name == name and sample.value:
                value = sample.labels.get(label, "")
                sums[value] = sums.get(value, 0) + int(sample.value)
        return sums

    def quantile(self, name: str, share: float) -> float | None:
        """Return the upper bound in seconds of the bucket in which this share of a histogram's observations lies."""
        buckets = self._buckets(name)
        everything = buckets.get(float("inf"), 0.0)
        if not everything:
            return None
        return next(bound for bound in sorted(buckets) if buckets[bound] >= share * everything)

    def _buckets(self, name: str) -> Mapping[float, float]:
        sums: dict[float, float] = {}
        for sample in self._samples:
            if sample.name == f"{name}_bucket":
                bound = float(sample.labels["le"])
                sums[bound] = sums.get(bound, 0.0) + sample.value
        return sums
