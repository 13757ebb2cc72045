"""Every metric of the front, as data, as `table` has those of the worker.

The only names that are labels are those of APIs, and of the ways in which requests end.
"""

from tokenmill.observe.caller_table import FIRST_BUCKETS
from tokenmill.observe.table import Metric, each

APIS = ("chat", "responses", "messages")
"""Which a request came by."""

STATUSES = ("1xx", "2xx", "3xx", "4xx", "5xx", "left")
"""How it was answered; or its client left before."""

ATTACHED = ("retry", "key", "id")
"""How a request found the answer that another one began: an SDK tried again; by its `Idempotency-Key`; by its id."""

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
        "Requests that got an answer which was there, instead of a new one.",
        ("how",),
        known=each(ATTACHED),
    ),
    Metric("tokenmill_front_abandoned_total", "counter", "Answers that were stopped because nobody read them."),
    Metric(
        "tokenmill_front_first_event_seconds",
        "histogram",
        "From a request until the first event of its answer could be told.",
        buckets=FIRST_BUCKETS,
    ),
    Metric("tokenmill_front_readers", "gauge", "Requests that are being answered."),
    Metric("tokenmill_front_known_requests", "gauge", "Requests of the last minutes that are known, of all fronts."),
    Metric("tokenmill_front_build_info", "gauge", "Always 1, with the versions that run.", ("version", "python")),
)
