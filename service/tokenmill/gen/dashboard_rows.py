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
from tokenmill.gen.panel import GROUP, WORKERS, Panel, Query, Row, buckets, quantiles, rate, total, within
from tokenmill.gen.tools_row import TOOLS

CHUNK_LATENCY = "tokenmill_chunk_to_event_latency_seconds"
FIRST_EVENT = "tokenmill_time_to_first_event_seconds"

SERVED = Row(
    "Traffic, errors, latency",
    (
        Panel(
            title="Workers",
            text="By version. Two versions mean an upgrade in progress.",
            queries=(Query(f"count by (version) (tokenmill_build_info{{{WORKERS}}})", "{{version}}"),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="Open messages",
            text="Answers being written now.",
            queries=(Query(total("tokenmill_open_messages")),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="Events in time",
            text="Share of the last hour's chunks whose events came within 0.25 s. The objective is 99 %.",
            queries=(Query(f"1 - job:tokenmill_late_chunks:ratio_rate1h{{{GROUP}}}"),),
            kind="stat",
            unit="percentunit",
            width=4,
        ),
        Panel(
            title="Records refused",
            text="Share of the last hour's records that became dead letters. The objective is below 0.1 %.",
            queries=(Query(f"job:tokenmill_refused_records:ratio_rate1h{{{GROUP}}}"),),
            kind="stat",
            unit="percentunit",
            width=4,
            red=0.001,
        ),
        Panel(
            title="Lag",
            text="How long the workers would need for the backlog.",
            queries=(Query(f"job:tokenmill_consumer_lag:seconds{{{GROUP}}}"),),
            kind="stat",
            unit="s",
            width=4,
            red=60,
        ),
        Panel(
            title="Lost",
            text="Messages that ended as lost, and records removed too early or skipped by hand, in the time shown.",
            queries=(
                Query(within("tokenmill_parse_errors_total", 'stage="recovery"'), "messages"),
                Query(within("tokenmill_records_lost_total"), "records"),
                Query(within("tokenmill_records_skipped_total"), "records skipped by hand"),
            ),
            kind="stat",
            width=4,
            red=1,
        ),
        Panel(
            title="Records",
            text="Read from the input, and acknowledged on each output.",
            queries=(
                Query(rate("tokenmill_records_consumed_total"), "consumed"),
                Query(rate("tokenmill_records_produced_total", "topic"), "{{topic}}"),
            ),
            unit="ops",
        ),
        Panel(
            title="Events",
            text="Native events by type.",
            queries=(Query(rate("tokenmill_events_produced_total", "type"), "{{type}}"),),
            unit="ops",
        ),
        Panel(
            title="Errors",
            text="Error events by reason, and dead letters by code.",
            queries=(
                Query(rate("tokenmill_parse_errors_total", "reason"), "{{reason}}"),
                Query(rate("tokenmill_dead_letters_total", "reason"), "dead letter: {{reason}}"),
            ),
            unit="ops",
        ),
        Panel(
            title="Chunk to event",
            text="From a chunk's record timestamp until everything it caused was acknowledged.",
            queries=buckets(CHUNK_LATENCY),
            kind="heatmap",
            unit="s",
        ),
        Panel(
            title="Chunk to event, quantiles",
            text="The same as lines. With exactly-once, includes the time until the commit.",
            queries=quantiles(CHUNK_LATENCY),
            unit="s",
        ),
        Panel(
            title="Time to first event",
            text="From the timestamp of a message's first record until its first events were acknowledged.",
            queries=quantiles(FIRST_EVENT),
            unit="s",
        ),
    ),
)

_CAP = total("tokenmill_state_limit_bytes", "instance")

SATURATION = Row(
    "Saturation",
    (
        Panel(
            title="Lag by partition",
            text="One rising line: that partition stands still, or a transaction on it hangs, and what follows is not "
            "committed. All rising: there are too few workers.",
            queries=(
                Query(total("tokenmill_consumer_lag_records", "topic, partition"), "{{topic}}/{{partition}}"),
                Query(
                    f"max by (topic, partition) (tokenmill_uncommitted_records{{{WORKERS}}}) > 0",
                    "{{topic}}/{{partition}}, not committed",
                ),
            ),
            width=12,
        ),
        Panel(
            title="Processor",
            text="Cores that a worker uses. It can use only one, for its event loop.",
            queries=(Query(rate("process_cpu_seconds_total", "instance"), "{{instance}}"),),
            width=6,
            red=0.95,
        ),
        Panel(
            title="Event loop",
            text="How late it woke. Above half a second a worker gets too little processor time.",
            queries=(Query(f"max by (instance) (tokenmill_event_loop_lag_seconds{{{WORKERS}}})", "{{instance}}"),),
            unit="s",
            width=6,
            red=0.5,
        ),
        Panel(
            title="State, share of cap",
            text="Memory of open messages. At 100 % input pauses, and the longest idle messages are finished.",
            queries=(Query(f"{total('tokenmill_state_bytes', 'instance')} / {_CAP}", "{{instance}}"),),
            unit="percentunit",
            width=6,
            red=0.9,
        ),
        Panel(
            title="Memory",
            text="Resident memory of the process.",
            queries=(Query(total("process_resident_memory_bytes", "instance"), "{{instance}}"),),
            unit="bytes",
            width=6,
        ),
        Panel(
            title="Not acknowledged",
            text="Output that the broker has not acknowledged yet. High: Kafka is slow, and workers wait for it.",
            queries=(Query(total("tokenmill_unacknowledged_bytes", "instance"), "{{instance}}"),),
            unit="bytes",
            width=6,
        ),
        Panel(
            title="Partitions",
            text="Their distribution over workers.",
            queries=(Query(total("tokenmill_assigned_partitions", "instance"), "{{instance}}"),),
            width=6,
        ),
    ),
)

RECOVERY = Row(
    "Recovery",
    (
        Panel(
            title="Rebalances",
            text="Partition assignments. A few at each change are normal.",
            queries=(Query(rate("tokenmill_rebalances_total", "instance"), "{{instance}}"),),
            unit="ops",
            width=6,
        ),
        Panel(
            title="Restores",
            text="Where partitions got their state. Replays take longest.",
            queries=(Query(rate("tokenmill_restores_total", "source"), "{{source}}"),),
            unit="ops",
            width=6,
        ),
        Panel(
            title="Time to restore",
            text="From the assignment of a partition until it was live.",
            queries=quantiles("tokenmill_restore_seconds"),
            unit="s",
            width=6,
        ),
        Panel(
            title="Replay",
            text="Partitions that wait for their state or are held, messages brought back, records read for it, and "
            "replays that gave another state.",
            queries=(
                Query(total("tokenmill_replaying_partitions"), "partitions"),
                Query(total("tokenmill_held_partitions"), "partitions held"),
                Query(rate("tokenmill_messages_restored_total"), "messages a second"),
                Query(rate("tokenmill_records_replayed_total"), "records a second"),
                Query(rate("tokenmill_replay_mismatches_total"), "mismatches a second"),
                Query(rate("tokenmill_offsets_moved_total", "direction"), "offsets moved {{direction}}"),
                Query(rate("tokenmill_log_changes_total", "change"), "other logs a second, {{change}}"),
            ),
            width=6,
        ),
        Panel(
            title="Commits",
            text="Commits of offsets and low-water marks.",
            queries=(Query(rate("tokenmill_commits_total", "outcome"), "{{outcome}}"),),
            unit="ops",
            width=6,
        ),
        Panel(
            title="Snapshots",
            text="Written to Redis. Overtaken: the partition already has another owner.",
            queries=(Query(rate("tokenmill_snapshots_total", "kind, outcome"), "{{kind}} {{outcome}}"),),
            unit="ops",
            width=6,
        ),
        Panel(
            title="Redis errors",
            text="Events continue without Redis; restarts take longer.",
            queries=(Query(rate("tokenmill_redis_errors_total", "op"), "{{op}}"),),
            unit="ops",
            width=6,
        ),
        Panel(
            title="Timeouts",
            text="Messages finished because nothing more came, or because memory was short.",
            queries=(Query(rate("tokenmill_timeouts_written_total"), "written"),),
            unit="ops",
            width=6,
        ),
    ),
)

_FORMAT = 'format=~"$format"'

DRILL_DOWN = Row(
    "By format and codec",
    (
        Panel(
            title="Tool calls",
            text="Outcome of the calls that models wrote.",
            queries=(Query(rate("tokenmill_tool_calls_total", "outcome", _FORMAT), "{{outcome}}"),),
            unit="ops",
        ),
        Panel(
            title="Broken calls, by format",
            text="Share of the last half hour's calls that could not be read. High for one: the wrong format.",
            queries=(Query(f"job_format:tokenmill_broken_calls:ratio_rate30m{{{GROUP}, {_FORMAT}}}", "{{format}}"),),
            unit="percentunit",
            red=0.1,
        ),
        Panel(
            title="Errors, by format",
            text="Error events with the stage and the reason.",
            queries=(
                Query(
                    rate("tokenmill_parse_errors_total", "format, stage, reason", _FORMAT),
                    "{{format}}: {{stage}}, {{reason}}",
                ),
            ),
            unit="ops",
        ),
        Panel(
            title="Chunks, by codec",
            text="Chunks from input records.",
            queries=(Query(rate("tokenmill_chunks_consumed_total", "codec", 'codec=~"$codec"'), "{{codec}}"),),
            unit="ops",
        ),
        Panel(
            title="Chunks without effect",
            text="Repeated, late, or of messages that are not open.",
            queries=(Query(rate("tokenmill_chunks_dropped_total", "reason"), "{{reason}}"),),
            unit="ops",
        ),
        Panel(
            title="Time to first event",
            text="As a heat map.",
            queries=buckets(FIRST_EVENT),
            kind="heatmap",
            unit="s",
        ),
    ),
)

ROWS = (SERVED, SATURATION, RECOVERY, DRILL_DOWN, GATEWAY, TOOLS, FRONT, CALLERS)
"""The dashboard, from the top."""
