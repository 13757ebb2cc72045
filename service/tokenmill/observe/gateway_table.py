"""Every metric of the gateway, as data, as `table` has those of the worker.

Labels are names of dialects, transports, endings and problems, of all of which there is a list in the code: whom a
client follows is no label.
"""

from tokenmill.observe.table import Metric, each

TRANSPORTS = ("sse", "ndjson", "ws", "durable")
"""How frames look on a connection."""

ENDINGS = ("finished", "slow", "closed", "drained", "expired", "lost", "moved", "back")
"""Why a stream is over; `back` is not over, but has to read again from earlier."""

RESUME_SOURCES = ("window", "log", "gap")
"""Where what follows a client's id came from: memory, Kafka, or it is gone and the client was told so."""

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
"""Kinds of refusals."""

WRITES = ("chunks", "stop", "tool-results")
"""What clients write."""

WAIT_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds. What memory answers takes one, what Kafka answers tens of milliseconds; the long end waits for a reader."""

DELIVERY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Seconds. From token to socket: the worker's latency, a flush, and with exactly-once a commit."""

GATEWAY_METRICS: tuple[Metric, ...] = (
    # ------------------------------------------------------------------------------------------------ connections
    Metric("tokenmill_gateway_connections", "gauge", "Open streams.", ("transport",)),
    Metric("tokenmill_gateway_connections_limit", "gauge", "Of all streams, what `gateway.connections` allows."),
    Metric(
        "tokenmill_gateway_streams_ended_total",
        "counter",
        "Streams by why they are over; those that went `back` read again from earlier, and go on.",
        ("reason",),
        known=each(ENDINGS),
    ),
    Metric(
        "tokenmill_gateway_resumes_total",
        "counter",
        "Clients that came back with an id, by where they went on from: memory, the log, or behind a gap.",
        ("source",),
        known=each(RESUME_SOURCES),
    ),
    Metric(
        "tokenmill_gateway_refusals_total",
        "counter",
        "Requests that were refused, by the kind of the problem.",
        ("problem",),
        known=each(PROBLEMS),
    ),
    # ------------------------------------------------------------------------------------------ what goes through
    Metric(
        "tokenmill_gateway_frames_sent_total",
        "counter",
        "Frames written for clients, each client's counted.",
        ("dialect", "transport"),
    ),
    Metric(
        "tokenmill_gateway_bytes_sent_total",
        "counter",
        "Bytes of those frames.",
        ("dialect", "transport"),
    ),
    Metric("tokenmill_gateway_heartbeats_total", "counter", "Comments that keep silent connections open."),
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
        "From the timestamp of a token's record until the flush that had its event on all sockets of its clients.",
        buckets=DELIVERY_BUCKETS,
    ),
    Metric(
        "tokenmill_gateway_first_byte_seconds",
        "histogram",
        "From a request for events until its headers were written.",
        buckets=WAIT_BUCKETS,
    ),
    Metric(
        "tokenmill_gateway_catch_up_seconds",
        "histogram",
        "For what a client had to be told of the past, until it was at the log's head.",
        buckets=WAIT_BUCKETS,
    ),
    # ------------------------------------------------------------------------------------------------ what is held
    Metric("tokenmill_gateway_window_bytes", "gauge", "Memory of the recent records that resumes are served from."),
    Metric("tokenmill_gateway_window_limit_bytes", "gauge", "Of those, what `gateway.window_mib` allows."),
    Metric("tokenmill_gateway_window_records", "gauge", "Recent records in memory."),
    Metric("tokenmill_gateway_readers_in_use", "gauge", "Consumers that read the past for somebody."),
    Metric("tokenmill_gateway_readers_limit", "gauge", "Of those, what `gateway.catch_up_readers` allows."),
    Metric(
        "tokenmill_gateway_uncommitted_records",
        "gauge",
        "Records at the end of a partition that nobody may see before their transaction is committed.",
        ("partition",),
    ),
    Metric("tokenmill_gateway_poll_age_seconds", "gauge", "Since the last answer of Kafka to the reader of the head."),
    Metric("tokenmill_gateway_build_info", "gauge", "Always 1; the labels say what runs.", ("version", "python")),
)
"""All metrics of the gateway, in the order in which they are exposed."""
