"""Every metric of the gateway, as data, as in `table` for the worker.

Labels are names of dialects, transports, endings and problems, each listed in the code; conversations are not labels.
"""

from typing import Literal, TypeAlias, get_args

from tokenmill.observe.table import Metric, each

TRANSPORTS = ("sse", "ndjson", "ws", "durable")
"""Forms of frames on a connection."""

Outcome: TypeAlias = Literal["finished", "slow", "closed", "drained", "expired", "lost", "moved", "back"]
"""Why a stream's client is no longer at the head: its answer is over; it does not keep up; it left; the process ends;
its rights or its time ended; the log was replaced; the conversation continues on another partition; it has to read
again from earlier, so that its stream is not over."""

RESUME_SOURCES = ("window", "log", "gap")
"""Sources of what follows a client's id: memory, Kafka, or a gap that the client was told of."""

PROBLEMS = (
    "bad-request",
    "bad-position",
    "unknown-dialect",
    "unknown-codec",
    "unauthenticated",
    "foreign-origin",
    "forbidden",
    "stale-producer",
    "not-found",
    "method-not-allowed",
    "timed-out",
    "conflict",
    "gone",
    "too-large",
    "unsupported-type",
    "misdirected",
    "too-many",
    "internal",
    "unavailable",
    "unverifiable",
    "stopping",
)
"""Kinds of refused requests."""

WRITES = ("chunks", "stop", "tool-results")
"""Kinds of requests that become records."""

WAIT_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds in seconds: memory answers in a millisecond, Kafka in tens; the long end waits for a reader."""

DELIVERY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds in seconds. From token to socket: the worker's latency, a flush, and with exactly-once a commit."""

GATEWAY_METRICS: tuple[Metric, ...] = (
    # ------------------------------------------------------------------------------------------------ connections
    Metric("tokenmill_gateway_connections", "gauge", "Open streams.", ("transport",)),
    Metric("tokenmill_gateway_connections_limit", "gauge", "Open streams that `gateway.connections` allows."),
    Metric(
        "tokenmill_gateway_streams_ended_total",
        "counter",
        "Streams by the reason for their end; those that went `back` continue, but read again from earlier.",
        ("reason",),
        known=each(get_args(Outcome)),
    ),
    Metric(
        "tokenmill_gateway_resumes_total",
        "counter",
        "Clients that came back with an id, by where they resumed: from memory, from the log, or after a gap.",
        ("source",),
        known=each(RESUME_SOURCES),
    ),
    Metric(
        "tokenmill_gateway_refusals_total",
        "counter",
        "Refused requests, by kind of problem.",
        ("problem",),
        known=each(PROBLEMS),
    ),
    # ------------------------------------------------------------------------------------------ what goes through
    Metric(
        "tokenmill_gateway_frames_sent_total",
        "counter",
        "Frames written to clients; a frame for several counts once for each.",
        ("dialect", "transport"),
    ),
    Metric(
        "tokenmill_gateway_bytes_sent_total",
        "counter",
        "Bytes of those frames.",
        ("dialect", "transport"),
    ),
    Metric("tokenmill_gateway_heartbeats_total", "counter", "Comments sent to keep silent connections open."),
    Metric(
        "tokenmill_gateway_writes_total",
        "counter",
        "Requests of clients that became records, by kind.",
        ("kind",),
        known=each(WRITES),
    ),
    # ------------------------------------------------------------------------------------------------------- time
    Metric(
        "tokenmill_gateway_delivery_latency_seconds",
        "histogram",
        "From the timestamp of a token's record until its event was flushed to the sockets of all its clients.",
        buckets=DELIVERY_BUCKETS,
    ),
    Metric(
        "tokenmill_gateway_first_byte_seconds",
        "histogram",
        "From a request for events until the response's headers were written.",
        buckets=WAIT_BUCKETS,
    ),
    Metric(
        "tokenmill_gateway_catch_up_seconds",
        "histogram",
        "Time that a client needed to catch up with the end of the log.",
        buckets=WAIT_BUCKETS,
    ),
    # ------------------------------------------------------------------------------------------------ what is held
    Metric("tokenmill_gateway_window_bytes", "gauge", "Memory of the recent records from which resumes are served."),
    Metric(
        "tokenmill_gateway_window_limit_bytes", "gauge", "Memory that `gateway.window_mib` allows for recent records."
    ),
    Metric("tokenmill_gateway_window_records", "gauge", "Recent records in memory."),
    Metric("tokenmill_gateway_readers_in_use", "gauge", "Consumers that are reading older records for clients."),
    Metric(
        "tokenmill_gateway_readers_limit", "gauge", "Consumers of older records that `gateway.catch_up_readers` allows."
    ),
    Metric(
        "tokenmill_gateway_uncommitted_records",
        "gauge",
        "Records at the end of a partition that are hidden until their transaction is committed.",
        ("partition",),
    ),
    Metric(
        "tokenmill_gateway_poll_age_seconds", "gauge", "Seconds since Kafka last answered the reader of the log's end."
    ),
    Metric(
        "tokenmill_gateway_build_info",
        "gauge",
        "Always 1; the labels name the running versions.",
        ("version", "python"),
    ),
)
"""All metrics of the gateway, in the order in which they are exposed."""
