"""Every metric of the worker, as data: exposition, reference page and dashboards are made from these rows.

Adding a metric takes one row here and one place that counts it. No label may have an unbounded set of values:
conversations, messages, models and error texts are not labels.
"""

from typing import Literal, TypeAlias

import msgspec

from tokenmill.errors import RECORD_ERRORS
from tokenmill.events import EVENT_TYPES

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds in seconds. The goal is tens of milliseconds; the long end shows a backlog being worked off."""

WORK_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds in seconds for restores, from a cache hit to the replay of a long log."""

RESTORE_SOURCES = ("memory", "redis", "replay", "empty")
"""Sources of a partition's state: kept through a rebalance, the store, the log alone, or there was none."""

LOG_CHANGES = ("another", "cut", "unknown")
"""How a topic differs from the log that was committed: another log under the same name, the same log without its end,
or one of the two, unknown which."""


MOVES = ("forward", "back", "none", "unknown")
"""Effects of an offset that was set by hand: events are skipped, published again, or neither; or it is unknown."""


class Metric(msgspec.Struct, frozen=True):
    """One row: `name` as exposed, labels in order, and its meaning."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    tally: str = ""
    """Field of the partition's `Tally` that this counter drains."""
    known: tuple[tuple[str, ...], ...] = ()
    """Label values that are exposed as 0 before anything is counted."""
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram."""


def each(values: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Values of a single label, as `known` takes them."""
    return tuple((value,) for value in values)


OF_TOOLS = frozenset({"tool-progress", "tool-result"})
"""Events that no worker makes."""

METRICS: tuple[Metric, ...] = (
    # ------------------------------------------------------------------------------------------ what goes through
    Metric(
        "tokenmill_chunks_consumed_total",
        "counter",
        "Chunks that codecs made of input records.",
        ("codec",),
        tally="chunks",
    ),
    Metric(
        "tokenmill_events_produced_total",
        "counter",
        "Native events made, before any dialect.",
        ("type",),
        tally="events",
        known=each(tuple(tag for event in EVENT_TYPES if (tag := str(event.__struct_config__.tag)) not in OF_TOOLS)),
    ),
    Metric(
        "tokenmill_parse_errors_total",
        "counter",
        "Error events by format, stage and reason.",
        ("format", "stage", "reason"),
        tally="parse_errors",
    ),
    Metric(
        "tokenmill_tool_calls_total",
        "counter",
        "Tool calls by outcome.",
        ("format", "outcome"),
        tally="tool_calls",
    ),
    Metric(
        "tokenmill_dead_letters_total",
        "counter",
        "Input records sent to the dead-letter topic.",
        ("reason",),
        tally="dead_letters",
        known=each(tuple(error.code for error in RECORD_ERRORS)),
    ),
    Metric(
        "tokenmill_chunks_dropped_total",
        "counter",
        "Chunks without effect: repeated, late, or of a message that is not open.",
        ("reason",),
        tally="dropped",
    ),
    Metric("tokenmill_records_consumed_total", "counter", "Input records processed, not counting silent replays."),
    Metric("tokenmill_records_replayed_total", "counter", "Input records read again to rebuild state."),
    Metric("tokenmill_records_produced_total", "counter", "Output records acknowledged by the broker.", ("topic",)),
    Metric(
        "tokenmill_timeouts_written_total",
        "counter",
        "Control records written because a message or a stream was idle or too old.",
    ),
    # ------------------------------------------------------------------------------------------------------- time
    Metric(
        "tokenmill_chunk_to_event_latency_seconds",
        "histogram",
        "From a chunk's record timestamp until everything it caused was acknowledged.",
        buckets=LATENCY_BUCKETS,
    ),
    Metric(
        "tokenmill_time_to_first_event_seconds",
        "histogram",
        "From the timestamp of a message's first record until its first events were acknowledged.",
        buckets=LATENCY_BUCKETS,
    ),
    Metric("tokenmill_event_loop_lag_seconds", "gauge", "How late the event loop last woke the watchdog."),
    # ------------------------------------------------------------------------------------------------ what is held
    Metric("tokenmill_open_messages", "gauge", "Open messages on the partitions of this worker."),
    Metric("tokenmill_state_bytes", "gauge", "Approximate memory of open messages and streams, with their options."),
    Metric(
        "tokenmill_state_limit_bytes", "gauge", "Memory that `worker.state_mib` allows for open messages and streams."
    ),
    Metric("tokenmill_unacknowledged_bytes", "gauge", "Output that the broker has not acknowledged yet."),
    Metric(
        "tokenmill_consumer_lag_records",
        "gauge",
        "Records between the last processed one and the end of the partition.",
        ("topic", "partition"),
    ),
    Metric(
        "tokenmill_uncommitted_records",
        "gauge",
        "Records at the end of a partition that are hidden until their transaction is committed. They are no lag.",
        ("topic", "partition"),
    ),
    Metric("tokenmill_assigned_partitions", "gauge", "Input partitions that this worker owns."),
    Metric("tokenmill_replaying_partitions", "gauge", "Owned partitions whose state is not restored yet."),
    Metric(
        "tokenmill_held_partitions",
        "gauge",
        "Owned partitions that are not read because an output topic has fewer partitions than the input.",
    ),
    # ---------------------------------------------------------------------------------------------------- recovery
    Metric(
        "tokenmill_restores_total",
        "counter",
        "Partitions made ready after an assignment, by the source of their state.",
        ("source",),
        known=each(RESTORE_SOURCES),
    ),
    Metric(
        "tokenmill_restore_seconds",
        "histogram",
        "From the start of a partition's restore until it was live: after its assignment, or after a failure.",
        buckets=WORK_BUCKETS,
    ),
    Metric(
        "tokenmill_messages_restored_total",
        "counter",
        "Messages that were open when their partition was made ready; per second, the speed of recovery.",
        ("source",),
        known=each(RESTORE_SOURCES),
    ),
    Metric("tokenmill_replay_mismatches_total", "counter", "Replays whose state differs from the committed one."),
    Metric("tokenmill_records_lost_total", "counter", "Records that the topic dropped before they were processed."),
    Metric(
        "tokenmill_offsets_moved_total",
        "counter",
        "Partitions whose committed offset was not set by a worker, by the effect.",
        ("direction",),
        known=each(MOVES),
    ),
    Metric(
        "tokenmill_records_skipped_total",
        "counter",
        "Records that no worker processed because the committed offset was set past them.",
    ),
    Metric(
        "tokenmill_log_changes_total",
        "counter",
        "Partitions that differ from the log that was committed: `another` log has its name, its end is `cut`, or "
        "which of the two is `unknown`.",
        ("change",),
        known=each(LOG_CHANGES),
    ),
    Metric("tokenmill_rebalances_total", "counter", "Rebalances in which the group gave this worker its partitions."),
    # --------------------------------------------------------------------------------------------- Kafka and Redis
    Metric(
        "tokenmill_commits_total",
        "counter",
        "Offset commits of this worker.",
        ("outcome",),
        known=each(("done", "failed")),
    ),
    Metric(
        "tokenmill_snapshots_total",
        "counter",
        "Snapshots of a partition written to the store.",
        ("kind", "outcome"),
        known=tuple((kind, outcome) for kind in ("full", "delta") for outcome in ("done", "failed", "overtaken")),
    ),
    Metric(
        "tokenmill_redis_errors_total",
        "counter",
        "Operations on Redis that failed: on snapshots, or (`session`) on the copy of session records.",
        ("op",),
        known=each(("load", "head", "write", "session")),
    ),
    Metric("tokenmill_build_info", "gauge", "Always 1; the labels name the running versions.", ("version", "python")),
)
"""All metrics, in the order in which they are exposed."""
