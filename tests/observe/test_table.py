"""The table of metrics keeps the contract and Prometheus's rules."""

import re

import pytest

from tests.structure.tree import PACKAGE
from tokenmill.observe import CALLER_METRICS, FRONT_METRICS, GATEWAY_METRICS, METRICS, TOOLS_METRICS, Metric
from tokenmill.partition import Tally

FIXED = {
    "tokenmill_chunks_consumed_total": ("codec",),
    "tokenmill_events_produced_total": ("type",),
    "tokenmill_parse_errors_total": ("format", "stage", "reason"),
    "tokenmill_tool_calls_total": ("format", "outcome"),
    "tokenmill_chunk_to_event_latency_seconds": (),
    "tokenmill_time_to_first_event_seconds": (),
    "tokenmill_open_messages": (),
    "tokenmill_consumer_lag_records": ("topic", "partition"),
    "tokenmill_restores_total": ("source",),
    "tokenmill_restore_seconds": (),
    "tokenmill_dead_letters_total": ("reason",),
    "tokenmill_rebalances_total": (),
    "tokenmill_redis_errors_total": ("op",),
}
"""Names and labels that users rely on."""


@pytest.mark.parametrize("name", FIXED)
def test_the_names_that_users_rely_on_are_there(name: str) -> None:
    """With exactly their labels."""
    assert {metric.name: metric.labels for metric in METRICS}[name] == FIXED[name]


def test_build_info_is_there() -> None:
    """Its labels are free."""
    assert "tokenmill_build_info" in {metric.name for metric in METRICS}


ROWS = [*METRICS, *GATEWAY_METRICS, *TOOLS_METRICS, *FRONT_METRICS, *CALLER_METRICS]


def test_every_row_is_filled_somewhere() -> None:
    """By a partition's tally, or by name; every process reports its versions. Else an alert would watch a constant."""
    tables = {"table.py", "gateway_table.py", "tools_table.py", "front_table.py", "caller_table.py"}
    sources = (path for path in PACKAGE.rglob("*.py") if path.name not in tables and path.parent.name != "gen")
    source = "".join(path.read_text() for path in sources)
    filled = {row.name for row in ROWS if row.tally or row.name.endswith("_build_info") or f'"{row.name}"' in source}
    assert {row.name for row in ROWS} - filled == set()


@pytest.mark.parametrize("metric", ROWS, ids=lambda metric: metric.name)
def test_every_row_keeps_the_naming_rules(metric: Metric) -> None:
    """Prefix, snake case, `_total` for counters and only for those, a help sentence, ascending buckets."""
    assert re.fullmatch(r"tokenmill_[a-z]+(_[a-z]+)*", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.help.endswith(".")
    assert bool(metric.buckets) == (metric.kind == "histogram")
    assert list(metric.buckets) == sorted(set(metric.buckets))
    assert all(len(values) == len(metric.labels) for values in metric.known)


def test_every_count_of_a_session_has_a_row() -> None:
    """And every row's field is one that a partition counts; times, traces, ends and rejections are lists."""
    counted = set(Tally().__slots__) - {"ended", "failed", "opened", "rejected", "traces"}
    assert {metric.tally for metric in METRICS if metric.tally} == counted


def test_names_are_given_once() -> None:
    """Two rows of one name would be two families; a name of two kinds of processes would be added up."""
    rows = [*METRICS, *GATEWAY_METRICS, *TOOLS_METRICS, *FRONT_METRICS, *CALLER_METRICS]
    assert len({metric.name for metric in rows}) == len(rows)
