"""Every metric of the front, as data, as in `table` for the worker.

Only names of APIs, and of the ways in which requests end, are labels.
"""

from tokenmill.observe.caller_table import FIRST_BUCKETS
from tokenmill.observe.table import Metric, each

APIS = ("chat", "responses", "messages")
"""APIs that a request may use."""

STATUSES = ("1xx", "2xx", "3xx", "4xx", "5xx", "left")
"""Class of the response's status; `left`: the client left before."""

ATTACHED = ("retry", "key", "id")
"""How a request found the answer that another began: as an SDK's retry; by its `Idempotency-Key`; by its id."""

FRONT_METRICS: tuple[Metric, ...] = (
    Metric(
        "tokenmill_front_requests_total",
        "counter",
        "Requests for answers, by the class of their status.",
        ("api", "status"),
        known=tuple((api, status) for api in APIS for status in ("2xx", "4xx", "5xx", "left")),
    ),
    Metric(
        "tokenmill_front_attached_total",
        "counter",
        "Requests that got an existing answer instead of a new one.",
        ("how",),
        known=each(ATTACHED),
    ),
    Metric("tokenmill_front_abandoned_total", "counter", "Answers that were stopped because nobody read them."),
    Metric(
        "tokenmill_front_first_event_seconds",
        "histogram",
        "From a request until the first event of its answer was ready.",
        buckets=FIRST_BUCKETS,
    ),
    Metric(
        "tokenmill_front_clocks_apart_total",
        "counter",
        "Answers whose caller's clock differs from the front's by more than five seconds.",
    ),
    Metric("tokenmill_front_readers", "gauge", "Requests that are being answered."),
    Metric(
        "tokenmill_front_known_requests",
        "gauge",
        "Known requests of the last minutes, of all fronts. At 200,000 the oldest are forgotten before their time.",
    ),
    Metric(
        "tokenmill_front_uncommitted_records",
        "gauge",
        "Records at the end of a partition of `events` that are hidden until their transaction is committed.",
        ("partition",),
    ),
    Metric("tokenmill_front_poll_age_seconds", "gauge", "Seconds since Kafka last answered the reader of events."),
    Metric(
        "tokenmill_front_build_info", "gauge", "Always 1; the labels name the running versions.", ("version", "python")
    ),
)
