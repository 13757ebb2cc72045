"""Reading a worker's metrics page."""

import pytest

from tokenmill.demo.metrics import Metrics

PAGE = """\
# TYPE calls counter
calls_total{format="hermes",outcome="complete"} 3.0
calls_total{format="plain",outcome="complete"} 1.0
calls_total{format="hermes",outcome="malformed"} 2.0
calls_total{format="hermes",outcome="never"} 0.0
# TYPE latency histogram
latency_bucket{le="0.01",topic="a"} 4.0
latency_bucket{le="0.1",topic="a"} 5.0
latency_bucket{le="+Inf",topic="a"} 5.0
latency_bucket{le="0.01",topic="b"} 4.0
latency_bucket{le="0.1",topic="b"} 4.0
latency_bucket{le="+Inf",topic="b"} 5.0
latency_count{topic="a"} 5.0
latency_sum{topic="a"} 0.05
"""


def test_a_counter_is_summed_over_the_other_labels() -> None:
    """What did not happen is left out."""
    assert Metrics(PAGE).by_label("calls_total", "outcome") == {"complete": 4, "malformed": 2}


def test_a_counter_that_is_not_there_counts_nothing() -> None:
    """A worker that does not answer gives an empty page."""
    assert Metrics("").by_label("calls_total", "outcome") == {}
    assert Metrics("").quantile("latency", 0.5) is None


@pytest.mark.parametrize(("share", "bound"), [(0.5, 0.01), (0.8, 0.01), (0.9, 0.1), (0.99, float("inf"))])
def test_a_quantile_is_the_bound_of_its_bucket(share: float, bound: float) -> None:
    """Buckets of all label sets are added up."""
    assert Metrics(PAGE).quantile("latency", share) == bound
