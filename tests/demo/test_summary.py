"""The end of the demo."""

from collections import Counter
from io import StringIO

from tokenmill.demo.metrics import Metrics
from tokenmill.demo.summary import Phase, print_summary
from tokenmill.terminal.console import Terminal

PAGE = """\
# TYPE tokenmill_chunks_consumed counter
tokenmill_chunks_consumed_total{codec="native"} 7.0
# TYPE tokenmill_tool_calls counter
tokenmill_tool_calls_total{format="hermes",outcome="complete"} 2.0
tokenmill_tool_calls_total{format="hermes",outcome="malformed"} 1.0
# TYPE tokenmill_chunk_to_event_latency_seconds histogram
tokenmill_chunk_to_event_latency_seconds_bucket{le="0.01"} 5.0
tokenmill_chunk_to_event_latency_seconds_bucket{le="0.1"} 10.0
tokenmill_chunk_to_event_latency_seconds_bucket{le="+Inf"} 10.0
tokenmill_chunk_to_event_latency_seconds_count 10.0
tokenmill_chunk_to_event_latency_seconds_sum 0.5
"""


def test_counts_latencies_and_metrics_are_said() -> None:
    """One table each; counters that the worker has not are 0."""
    page = StringIO()
    phases = [
        Phase("alone", Counter({"finish": 1}), [1.0, 3.0]),
        Phase("crowd", Counter({"finish": 2, "text-delta": 3}), [2.0] * 5),
    ]
    print_summary(Terminal(file=page, width=200), phases, Metrics(PAGE))
    lines = [line.split() for line in page.getvalue().splitlines()]
    assert ["finish", "1", "2"] in lines
    assert ["text-delta", "0", "3"] in lines
    assert ["all", "1", "5"] in lines
    assert ["crowd", "2", "ms", "2", "ms"] in lines
    assert ["acknowledged", "≤", "10", "ms", "≤", "100", "ms"] in [line[5:] for line in lines]
    assert ["chunks", "consumed", "7", "native", "7"] in lines
    assert ["tool", "calls", "3", "complete", "2,", "malformed", "1"] in lines
    assert ["dead", "letters", "0"] in lines
