"""The dashboard's row about the front: the answers to its clients, and how long they wait."""

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
    versions,
)

FIRST_EVENT = "tokenmill_front_first_event_seconds"

FRONT = Row(
    "Front",
    (
        versions("Fronts", "By version.", "tokenmill_front_build_info"),
        stat("Requests under way", "Clients that are being answered.", total("tokenmill_front_readers")),
        stat(
            "Requests that fail",
            "Share of the last hour's requests with a server error, status 500 and above.",
            f"job:tokenmill_front_failed_requests:ratio_rate1h{{{GROUP}}}",
            unit="percentunit",
            red=0.05,
        ),
        stat(
            "First event, p95",
            "From a request to the first event of its answer. Long prompts take time.",
            quantiles(FIRST_EVENT)[1],
            unit="s",
            red=30,
        ),
        stat(
            "Known requests",
            "Requests of the last minutes, by the front with most. A repeated one starts no new generation. At 200,000 "
            "the oldest are forgotten before their time.",
            f"max(tokenmill_front_known_requests{{{WORKERS}}})",
            red=200_000,
        ),
        stat(
            "Last answer from Kafka",
            "Age, for the front that has waited longest. From 30 s it reports that it is not ready.",
            f"max(tokenmill_front_poll_age_seconds{{{WORKERS}}})",
            unit="s",
            red=30,
        ),
        rates(
            "Requests",
            "Requests for answers, by status class. `left`: the client left early.",
            rate_by("tokenmill_front_requests_total", "status"),
        ),
        rates(
            "Requests by API",
            "Chat completions, Responses or Messages.",
            rate_by("tokenmill_front_requests_total", "api"),
        ),
        rates(
            "Attached, abandoned, clocks apart",
            "Requests that got an existing answer, by how it was found; answers that nobody read; wrong clocks.",
            rate_by("tokenmill_front_attached_total", "how"),
            Query(rate("tokenmill_front_abandoned_total"), "abandoned"),
            Query(rate("tokenmill_front_clocks_apart_total"), "clocks apart"),
        ),
        lines(
            "Request to first event",
            "Includes the wait for a place and the model's own time.",
            *quantiles(FIRST_EVENT),
            unit="s",
        ),
        lines(
            "Not committed",
            "Records of `events` that are not visible yet. A line that only rises: a transaction hangs.",
            Query(f"max by (partition) (tokenmill_front_uncommitted_records{{{WORKERS}}})", "{{partition}}"),
        ),
        heat_map("Request to first event, all of them", "As a heat map.", FIRST_EVENT),
    ),
)
