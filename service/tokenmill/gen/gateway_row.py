"""The dashboard's row about the gateway: its clients, how long they wait, why they leave, what is short."""

from tokenmill.gen.panel import WORKERS, Panel, Query, Row, buckets, quantiles, rate, total

DELIVERY = "tokenmill_gateway_delivery_latency_seconds"

_STREAMS = total("tokenmill_gateway_connections", "instance")
_ALLOWED = total("tokenmill_gateway_connections_limit", "instance")
_WINDOW = total("tokenmill_gateway_window_bytes", "instance")
_WINDOW_CAP = total("tokenmill_gateway_window_limit_bytes", "instance")

GATEWAY = Row(
    "Gateway",
    (
        Panel(
            title="Gateways",
            text="By version.",
            queries=(Query(f"count by (version) (tokenmill_gateway_build_info{{{WORKERS}}})", "{{version}}"),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="Open streams",
            text="Clients that read an answer, or wait for one.",
            queries=(Query(total("tokenmill_gateway_connections")),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="Fullest gateway",
            text="Share of the streams that `gateway.connections` allows. At 100 % new ones are refused.",
            queries=(Query(f"max({_STREAMS} / {_ALLOWED})", "the fullest"),),
            kind="stat",
            unit="percentunit",
            width=4,
            red=0.9,
        ),
        Panel(
            title="Token to socket, p99",
            text="From a token's record until its event was written for all waiting clients.",
            queries=(quantiles(DELIVERY)[-1],),
            kind="stat",
            unit="s",
            width=4,
            red=2.5,
        ),
        Panel(
            title="Readers of the past",
            text="Share of the readers that `gateway.catch_up_readers` allows. At 100 % returning clients wait.",
            queries=(
                Query(
                    f"max({total('tokenmill_gateway_readers_in_use', 'instance')}"
                    f" / {total('tokenmill_gateway_readers_limit', 'instance')})",
                    "the busiest",
                ),
            ),
            kind="stat",
            unit="percentunit",
            width=4,
            red=1,
        ),
        Panel(
            title="Last answer from Kafka",
            text="Age, for the reader that has waited longest. From 30 s the gateway reports that it is not ready.",
            queries=(Query(f"max(tokenmill_gateway_poll_age_seconds{{{WORKERS}}})"),),
            kind="stat",
            unit="s",
            width=4,
            red=30,
        ),
        Panel(
            title="Streams",
            text="Open streams, by transport.",
            queries=(Query(total("tokenmill_gateway_connections", "transport"), "{{transport}}"),),
        ),
        Panel(
            title="Frames",
            text="Frames written for clients, by dialect.",
            queries=(Query(rate("tokenmill_gateway_frames_sent_total", "dialect"), "{{dialect}}"),),
            unit="ops",
        ),
        Panel(
            title="Bytes",
            text="Bytes of those frames, by transport.",
            queries=(Query(rate("tokenmill_gateway_bytes_sent_total", "transport"), "{{transport}}"),),
            unit="Bps",
        ),
        Panel(
            title="Token to socket",
            text="As a heat map.",
            queries=buckets(DELIVERY),
            kind="heatmap",
            unit="s",
        ),
        Panel(
            title="First byte",
            text="From a request for events until its headers were written.",
            queries=quantiles("tokenmill_gateway_first_byte_seconds"),
            unit="s",
        ),
        Panel(
            title="Catch-up",
            text="Time to send a client the past. Long: the past lies in Kafka, or readers are short.",
            queries=quantiles("tokenmill_gateway_catch_up_seconds"),
            unit="s",
        ),
        Panel(
            title="Streams that ended",
            text="By reason. `back` is not an end: the stream reads again from earlier.",
            queries=(Query(rate("tokenmill_gateway_streams_ended_total", "reason"), "{{reason}}"),),
            unit="ops",
        ),
        Panel(
            title="Resumes",
            text="Where returning clients resumed. `gap`: the log no longer has it.",
            queries=(Query(rate("tokenmill_gateway_resumes_total", "source"), "{{source}}"),),
            unit="ops",
        ),
        Panel(
            title="Refusals",
            text="By kind of problem.",
            queries=(Query(rate("tokenmill_gateway_refusals_total", "problem"), "{{problem}}"),),
            unit="ops",
        ),
        Panel(
            title="Writes and heartbeats",
            text="Writes by clients, and comments that keep silent connections open.",
            queries=(
                Query(rate("tokenmill_gateway_writes_total", "kind"), "{{kind}}"),
                Query(rate("tokenmill_gateway_heartbeats_total"), "heartbeats"),
            ),
            unit="ops",
            width=6,
        ),
        Panel(
            title="Window, share of cap",
            text="Recent records in memory. Full is harmless: the oldest are dropped, and read from Kafka.",
            queries=(Query(f"{_WINDOW} / {_WINDOW_CAP}", "{{instance}}"),),
            unit="percentunit",
            width=6,
        ),
        Panel(
            title="Window, records",
            text="Recent records in memory, by number.",
            queries=(Query(total("tokenmill_gateway_window_records", "instance"), "{{instance}}"),),
            width=6,
        ),
        Panel(
            title="Not committed",
            text="Records that are not visible yet. A line that only rises: a transaction hangs.",
            queries=(
                Query(f"max by (partition) (tokenmill_gateway_uncommitted_records{{{WORKERS}}})", "{{partition}}"),
            ),
            width=6,
        ),
    ),
)
