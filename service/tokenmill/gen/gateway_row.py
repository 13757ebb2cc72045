"""The dashboard's row about the gateway: its clients, how long they wait, why they leave, what is short."""

from tokenmill.gen.panel import (
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
)

DELIVERY = "tokenmill_gateway_delivery_latency_seconds"

_STREAMS = total("tokenmill_gateway_connections", "instance")
_ALLOWED = total("tokenmill_gateway_connections_limit", "instance")
_WINDOW = total("tokenmill_gateway_window_bytes", "instance")
_WINDOW_CAP = total("tokenmill_gateway_window_limit_bytes", "instance")

GATEWAY = Row(
    "Gateway",
    (
        versions("Gateways", "By version.", "tokenmill_gateway_build_info"),
        stat("Open streams", "Clients that read an answer, or wait for one.", total("tokenmill_gateway_connections")),
        stat(
            "Fullest gateway",
            "Share of the streams that `gateway.connections` allows. At 100 % new ones are refused.",
            Query(f"max({_STREAMS} / {_ALLOWED})", "the fullest"),
            unit="percentunit",
            red=0.9,
        ),
        stat(
            "Token to socket, p99",
            "From a token's record until its event was written for all waiting clients.",
            quantiles(DELIVERY)[-1],
            unit="s",
            red=2.5,
        ),
        stat(
            "Readers of the past",
            "Share of the readers that `gateway.catch_up_readers` allows. At 100 % returning clients wait.",
            Query(
                f"max({total('tokenmill_gateway_readers_in_use', 'instance')}"
                f" / {total('tokenmill_gateway_readers_limit', 'instance')})",
                "the busiest",
            ),
            unit="percentunit",
            red=1,
        ),
        stat(
            "Last answer from Kafka",
            "Age, for the reader that has waited longest. From 30 s the gateway reports that it is not ready.",
            f"max(tokenmill_gateway_poll_age_seconds{{{WORKERS}}})",
            unit="s",
            red=30,
        ),
        lines("Streams", "Open streams, by transport.", total_by("tokenmill_gateway_connections", "transport")),
        rates(
            "Frames",
            "Frames written for clients, by dialect.",
            rate_by("tokenmill_gateway_frames_sent_total", "dialect"),
        ),
        lines(
            "Bytes",
            "Bytes of those frames, by transport.",
            rate_by("tokenmill_gateway_bytes_sent_total", "transport"),
            unit="Bps",
        ),
        heat_map("Token to socket", "As a heat map.", DELIVERY),
        lines(
            "First byte",
            "From a request for events until its headers were written.",
            *quantiles("tokenmill_gateway_first_byte_seconds"),
            unit="s",
        ),
        lines(
            "Catch-up",
            "Time to send a client the past. Long: the past lies in Kafka, or readers are short.",
            *quantiles("tokenmill_gateway_catch_up_seconds"),
            unit="s",
        ),
        rates(
            "Streams that ended",
            "By reason. `back` is not an end: the stream reads again from earlier.",
            rate_by("tokenmill_gateway_streams_ended_total", "reason"),
        ),
        rates(
            "Resumes",
            "Where returning clients resumed. `gap`: the log no longer has it.",
            rate_by("tokenmill_gateway_resumes_total", "source"),
        ),
        rates("Refusals", "By kind of problem.", rate_by("tokenmill_gateway_refusals_total", "problem")),
        rates(
            "Writes and heartbeats",
            "Writes by clients, and comments that keep silent connections open.",
            rate_by("tokenmill_gateway_writes_total", "kind"),
            Query(rate("tokenmill_gateway_heartbeats_total"), "heartbeats"),
            width=6,
        ),
        lines(
            "Window, share of cap",
            "Recent records in memory. Full is harmless: the oldest are dropped, and read from Kafka.",
            Query(f"{_WINDOW} / {_WINDOW_CAP}", "{{instance}}"),
            unit="percentunit",
            width=6,
        ),
        lines(
            "Window, records",
            "Recent records in memory, by number.",
            total_by("tokenmill_gateway_window_records", "instance"),
            width=6,
        ),
        lines(
            "Not committed",
            "Records that are not visible yet. A line that only rises: a transaction hangs.",
            Query(f"max by (partition) (tokenmill_gateway_uncommitted_records{{{WORKERS}}})", "{{partition}}"),
            width=6,
        ),
    ),
)
