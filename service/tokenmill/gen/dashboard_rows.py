"""The content of the Grafana dashboard: rows of panels, each with its queries to Prometheus.

1. First whether users are served: traffic, errors, latency. Then what is short, then how workers recover, then which
   format or codec it is, then the gateway, tools, front and callers. The person on call reads from the top and stops
   where it is red.
2. Queries use the dashboard's variables, and rates use `$__rate_interval`, which follows the scrape interval.
3. Panels sum over workers, unless the question is which worker it is.
"""

from tokenmill.gen.caller_row import CALLERS
from tokenmill.gen.front_row import FRONT
from tokenmill.gen.gateway_row import GATEWAY
from tokenmill.gen.panel import (
    GROUP,
    WORKERS,
    Query,
    Row,
    heat_map,
    lines,
    quantiles,
    rate,
    rate_by,
    rates,
    stat,
    total,
    total_by,
    versions,
    within,
)
from tokenmill.gen.tools_row import TOOLS

CHUNK_LATENCY = "tokenmill_chunk_to_event_latency_seconds"
FIRST_EVENT = "tokenmill_time_to_first_event_seconds"

SERVED = Row(
    "Traffic, errors, latency",
    (
        versions("Workers", "By version. Two versions mean an upgrade in progress.", "tokenmill_build_info"),
        stat("Open messages", "Answers being written now.", total("tokenmill_open_messages")),
        stat(
            "Events in time",
            "Share of the last hour's chunks whose events came within 0.25 s. The objective is 99 %.",
            f"1 - job:tokenmill_late_chunks:ratio_rate1h{{{GROUP}}}",
            unit="percentunit",
        ),
        stat(
            "Records refused",
            "Share of the last hour's records that became dead letters. The objective is below 0.1 %.",
            f"job:tokenmill_refused_records:ratio_rate1h{{{GROUP}}}",
            unit="percentunit",
            red=0.001,
        ),
        stat(
            "Lag",
            "How long the workers would need for the backlog.",
            f"job:tokenmill_consumer_lag:seconds{{{GROUP}}}",
            unit="s",
            red=60,
        ),
        stat(
            "Lost",
            "Messages that ended as lost, and records removed too early or skipped by hand, in the time shown.",
            Query(within("tokenmill_parse_errors_total", 'stage="recovery"'), "messages"),
            Query(within("tokenmill_records_lost_total"), "records"),
            Query(within("tokenmill_records_skipped_total"), "records skipped by hand"),
            red=1,
        ),
        rates(
            "Records",
            "Read from the input, and acknowledged on each output.",
            Query(rate("tokenmill_records_consumed_total"), "consumed"),
            rate_by("tokenmill_records_produced_total", "topic"),
        ),
        rates("Events", "Native events by type.", rate_by("tokenmill_events_produced_total", "type")),
        rates(
            "Errors",
            "Error events by reason, and dead letters by code.",
            rate_by("tokenmill_parse_errors_total", "reason"),
            Query(rate("tokenmill_dead_letters_total", "reason"), "dead letter: {{reason}}"),
        ),
        heat_map(
            "Chunk to event",
            "From a chunk's record timestamp until everything it caused was acknowledged.",
            CHUNK_LATENCY,
        ),
        lines(
            "Chunk to event, quantiles",
            "The same as lines. With exactly-once, includes the time until the commit.",
            *quantiles(CHUNK_LATENCY),
            unit="s",
        ),
        lines(
            "Time to first event",
            "From the timestamp of a message's first record until its first events were acknowledged.",
            *quantiles(FIRST_EVENT),
            unit="s",
        ),
    ),
)

_CAP = total("tokenmill_state_limit_bytes", "instance")

SATURATION = Row(
    "Saturation",
    (
        lines(
            "Lag by partition",
            "One rising line: that partition stands still, or a transaction on it hangs, and what follows is not "
            "committed. All rising: there are too few workers.",
            Query(total("tokenmill_consumer_lag_records", "topic, partition"), "{{topic}}/{{partition}}"),
            Query(
                f"max by (topic, partition) (tokenmill_uncommitted_records{{{WORKERS}}}) > 0",
                "{{topic}}/{{partition}}, not committed",
            ),
            width=12,
        ),
        lines(
            "Processor",
            "Cores that a worker uses. It can use only one, for its event loop.",
            rate_by("process_cpu_seconds_total", "instance"),
            width=6,
            red=0.95,
        ),
        lines(
            "Event loop",
            "How late it woke. Above half a second a worker gets too little processor time.",
            Query(f"max by (instance) (tokenmill_event_loop_lag_seconds{{{WORKERS}}})", "{{instance}}"),
            unit="s",
            width=6,
            red=0.5,
        ),
        lines(
            "State, share of cap",
            "Memory of open messages. At 100 % input pauses, and the longest idle messages are finished.",
            Query(f"{total('tokenmill_state_bytes', 'instance')} / {_CAP}", "{{instance}}"),
            unit="percentunit",
            width=6,
            red=0.9,
        ),
        lines(
            "Memory",
            "Resident memory of the process.",
            total_by("process_resident_memory_bytes", "instance"),
            unit="bytes",
            width=6,
        ),
        lines(
            "Not acknowledged",
            "Output that the broker has not acknowledged yet. High: Kafka is slow, and workers wait for it.",
            total_by("tokenmill_unacknowledged_bytes", "instance"),
            unit="bytes",
            width=6,
        ),
        lines(
            "Partitions",
            "Their distribution over workers.",
            total_by("tokenmill_assigned_partitions", "instance"),
            width=6,
        ),
    ),
)

RECOVERY = Row(
    "Recovery",
    (
        rates(
            "Rebalances",
            "Partition assignments. A few at each change are normal.",
            rate_by("tokenmill_rebalances_total", "instance"),
            width=6,
        ),
        rates(
            "Restores",
            "Where partitions got their state. Replays take longest.",
            rate_by("tokenmill_restores_total", "source"),
            width=6,
        ),
        lines(
            "Time to restore",
            "From the assignment of a partition until it was live.",
            *quantiles("tokenmill_restore_seconds"),
            unit="s",
            width=6,
        ),
        lines(
            "Replay",
            "Partitions that wait for their state or are held, messages brought back, records read for it, and "
            "replays that gave another state.",
            Query(total("tokenmill_replaying_partitions"), "partitions"),
            Query(total("tokenmill_held_partitions"), "partitions held"),
            Query(rate("tokenmill_messages_restored_total"), "messages a second"),
            Query(rate("tokenmill_records_replayed_total"), "records a second"),
            Query(rate("tokenmill_replay_mismatches_total"), "mismatches a second"),
            Query(rate("tokenmill_offsets_moved_total", "direction"), "offsets moved {{direction}}"),
            Query(rate("tokenmill_log_changes_total", "change"), "other logs a second, {{change}}"),
            width=6,
        ),
        rates(
            "Commits", "Commits of offsets and low-water marks.", rate_by("tokenmill_commits_total", "outcome"), width=6
        ),
        rates(
            "Snapshots",
            "Written to Redis. Overtaken: the partition already has another owner.",
            rate_by("tokenmill_snapshots_total", "kind", "outcome"),
            width=6,
        ),
        rates(
            "Redis errors",
            "Events continue without Redis; restarts take longer.",
            rate_by("tokenmill_redis_errors_total", "op"),
            width=6,
        ),
        rates(
            "Timeouts",
            "Messages finished because nothing more came, or because memory was short.",
            Query(rate("tokenmill_timeouts_written_total"), "written"),
            width=6,
        ),
    ),
)

_FORMAT = 'format=~"$format"'

DRILL_DOWN = Row(
    "By format and codec",
    (
        rates(
            "Tool calls",
            "Outcome of the calls that models wrote.",
            rate_by("tokenmill_tool_calls_total", "outcome", where=_FORMAT),
        ),
        lines(
            "Broken calls, by format",
            "Share of the last half hour's calls that could not be read. High for one: the wrong format.",
            Query(f"job_format:tokenmill_broken_calls:ratio_rate30m{{{GROUP}, {_FORMAT}}}", "{{format}}"),
            unit="percentunit",
            red=0.1,
        ),
        rates(
            "Errors, by format",
            "Error events with the stage and the reason.",
            Query(
                rate("tokenmill_parse_errors_total", "format, stage, reason", _FORMAT),
                "{{format}}: {{stage}}, {{reason}}",
            ),
        ),
        rates(
            "Chunks, by codec",
            "Chunks from input records.",
            rate_by("tokenmill_chunks_consumed_total", "codec", where='codec=~"$codec"'),
        ),
        rates(
            "Chunks without effect",
            "Repeated, late, or of messages that are not open.",
            rate_by("tokenmill_chunks_dropped_total", "reason"),
        ),
        heat_map("Time to first event", "As a heat map.", FIRST_EVENT),
    ),
)

ROWS = (SERVED, SATURATION, RECOVERY, DRILL_DOWN, GATEWAY, TOOLS, FRONT, CALLERS)
"""The dashboard, from the top."""
