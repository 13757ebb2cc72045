"""Counting without a call per token, and what Prometheus reads of it."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tokenmill.observe import METRICS, Histogram, Numbers, exposition
from tokenmill.partition import Tally


def _samples(numbers: Numbers) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    page = exposition(numbers)().decode()
    families = text_string_to_metric_families(page)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def test_everything_of_the_table_is_exposed() -> None:
    """Each family with its help, in a page that Prometheus's own parser reads; and the process's own metrics."""
    families = {f.name: f for f in text_string_to_metric_families(exposition(Numbers())().decode())}
    for metric in METRICS:
        assert families[metric.name.removesuffix("_total")].documentation == metric.help
    assert "process_resident_memory_bytes" in families


def test_known_labels_begin_at_zero() -> None:
    """So that a rate is right from the first event on."""
    samples = _samples(Numbers())
    assert samples["tokenmill_events_produced_total", (("type", "finish"),)] == 0
    assert samples["tokenmill_restores_total", (("source", "redis"),)] == 0
    assert samples["tokenmill_rebalances_total", ()] == 0


def test_a_session_s_counts_are_added() -> None:
    """Of one label or of several; twice is the sum."""
    numbers = Numbers()
    for _ in range(2):
        tally = Tally()
        tally.chunks["native"] += 3
        tally.parse_errors["hermes", "call", "malformed-call"] += 1
        numbers.take(tally)
    samples = _samples(numbers)
    assert samples["tokenmill_chunks_consumed_total", (("codec", "native"),)] == 6
    labels = (("format", "hermes"), ("reason", "malformed-call"), ("stage", "call"))
    assert samples["tokenmill_parse_errors_total", labels] == 2


def test_counters_and_gauges_can_be_asked_for() -> None:
    """A gauge is read when somebody looks, not before."""
    numbers = Numbers()
    numbers.add("tokenmill_restores_total", "redis")
    numbers.add("tokenmill_records_lost_total", by=5)
    level = [1.0]
    numbers.read_value("tokenmill_open_messages", lambda: level[0])
    level[0] = 7
    assert numbers.value("tokenmill_restores_total", "redis") == 1
    assert numbers.value("tokenmill_records_lost_total") == 5
    assert numbers.value("tokenmill_open_messages") == 7
    assert _samples(numbers)["tokenmill_open_messages", ()] == 7


def test_what_the_table_does_not_know_is_refused() -> None:
    """A misspelt name or a missing label is a defect, not a new metric."""
    numbers = Numbers()
    with pytest.raises(KeyError):
        numbers.add("tokenmill_restored_total", "redis")
    with pytest.raises(KeyError):
        numbers.read("tokenmill_open_message", list)
    with pytest.raises(ValueError, match="labels"):
        numbers.add("tokenmill_restores_total")


def test_a_histogram_counts_a_batch_as_it_counts_one_by_one() -> None:
    """Buckets, sum and count; a bound belongs to its bucket."""
    bounds = (0.1, 1.0, 10.0)
    ages = [0.0, 0.05, 0.1, 0.5, 1.0, 9.0, 11.0]
    batch, single = Histogram(bounds), Histogram(bounds)
    batch.observe_since([int(100_000 - age * 1000) for age in reversed(ages)], 100_000)
    for age in ages:
        single.observe(age)
    assert batch.cumulative == single.cumulative == [3, 5, 6]
    assert batch.count == single.count == len(ages)
    assert batch.total == pytest.approx(single.total)


def test_a_timestamp_from_the_future_took_no_time() -> None:
    """The producer's clock is ahead: the sum does not go back."""
    histogram = Histogram((1.0,))
    histogram.observe_since([2_000, 500], 1_000)
    assert (histogram.count, histogram.cumulative, histogram.total) == (2, [2], 0.5)


def test_an_empty_batch_counts_nothing() -> None:
    """Marks between records have no timestamps."""
    histogram = Histogram((1.0,))
    histogram.observe_since([], 1_000)
    assert (histogram.count, histogram.total) == (0, 0.0)
