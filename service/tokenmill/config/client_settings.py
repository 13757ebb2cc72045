"""The Kafka client's own settings: those that `kafka.producer` and `kafka.consumer` pass on, and those they refuse.

The names are aiokafka's. Settings that promises rest on are made by tokenmill or have a key of their own. A setting in
neither table is unknown here, so a newer client's setting is checked before it is allowed.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from tokenmill.config.base import Contradiction, PositiveInt, wrong
from tokenmill.config.sections import Kafka
from tokenmill.parser.options import wrong_value
from tokenmill.registry import known_names

LONGEST_FETCH_WAIT_MS = 1_000
"""Milliseconds that a fetch may wait for records: a broker that answers later counts as one that hangs."""

SHORTEST_IDLE_MS = 1_000
"""Milliseconds after which an idle connection may be closed at the earliest. The client looks at a busy one again after
this time: with 0 it does nothing else."""

BOTH = {
    "connections_max_idle_ms": Annotated[int, Meta(ge=SHORTEST_IDLE_MS)],
    "metadata_max_age_ms": PositiveInt,
    "retry_backoff_ms": PositiveInt,
}


class Passed(NamedTuple):
    """The settings of one kind of client."""

    key: str
    taken: Mapping[str, Any]
    """Settings that are passed on: name → type."""
    kept: Mapping[str, str]
    """Settings that are refused: name → the reason, or the key that sets it."""


PRODUCER = Passed(
    "kafka.producer",
    {**BOTH, "compression_type": Literal["gzip", "lz4", "snappy", "zstd"], "max_batch_size": PositiveInt},
    {
        "acks": "every promise needs the acknowledgement of all replicas",
        "enable_idempotence": "without it a retry doubles or reorders records",
        "key_serializer": "records are bytes already",
        "linger_ms": "batches grow with the load by themselves",
        "max_request_size": "it follows from the limits of the topics",
        "partitioner": "a conversation's key decides its partition",
        "transaction_timeout_ms": "worker.transaction_timeout_ms sets it",
        "transactional_id": "kafka.transactional_id_prefix is its first part; the rest fences dead owners",
        "value_serializer": "records are bytes already",
    },
)

CONSUMER = Passed(
    "kafka.consumer",
    {
        **BOTH,
        "check_crcs": bool,
        "client_rack": str,
        "fetch_max_bytes": PositiveInt,
        "fetch_max_wait_ms": Annotated[int, Meta(ge=0, le=LONGEST_FETCH_WAIT_MS)],
        "fetch_min_bytes": PositiveInt,
        "max_partition_fetch_bytes": PositiveInt,
    },
    {
        "auto_commit_interval_ms": "worker.commit_interval_ms sets when offsets are committed",
        "auto_offset_reset": "skipping data is never the default; the log decides what a lost offset becomes",
        "consumer_timeout_ms": "how long a reader waits is decided where it reads",
        "enable_auto_commit": "an offset is committed after its outputs, never before",
        "exclude_internal_topics": "topics are read by their names",
        "group_id": "kafka.group_id sets it",
        "group_instance_id": "kafka.group_instance_id sets it",
        "heartbeat_interval_ms": "kafka.heartbeat_interval_ms sets it",
        "isolation_level": "records of open or aborted transactions are not read",
        "key_deserializer": "one that raises would stop a partition",
        "max_poll_interval_ms": "the watch of worker.stall_timeout_s notices a worker that does not read",
        "max_poll_records": "how much is parsed at once depends on what else waits for its turn",
        "partition_assignment_strategy": "all members of a group have to share one",
        "rebalance_timeout_ms": "kafka.rebalance_timeout_ms sets it",
        "session_timeout_ms": "kafka.session_timeout_ms sets it",
        "value_deserializer": "one that raises would stop a partition",
    },
)

SHARED: Mapping[str, str] = {
    "api_version": "it is detected on connecting",
    "bootstrap_servers": "kafka.bootstrap_servers sets it",
    "client_id": "kafka.client_id sets it",
    "loop": "tokenmill sets its own",
    "request_timeout_ms": "kafka.request_timeout_ms sets it",
    "security_protocol": "kafka.security_protocol sets it",
    "ssl_context": "kafka.ssl_cafile and the other ssl_ keys make it",
    **dict.fromkeys(
        ("sasl_mechanism", "sasl_plain_username", "sasl_plain_password", "sasl_oauth_token_provider"),
        "kafka.sasl_mechanism and the other sasl_ keys set it",
    ),
    **dict.fromkeys(("sasl_kerberos_service_name", "sasl_kerberos_domain_name"), "Kerberos is not supported"),
}
"""Settings that both kinds of client refuse."""


def client_contradictions(kafka: Kafka) -> Iterator[Contradiction]:
    """Every setting that can't be passed on."""
    for passed, given in ((PRODUCER, kafka.producer), (CONSUMER, kafka.consumer)):
        for name, value in given.items():
            if problem := _problem(passed, name, value):
                yield wrong(f"{passed.key}.{name}", problem, passed.key)


def _problem(passed: Passed, name: str, value: object) -> str:
    if why := passed.kept.get(name) or SHARED.get(name):
        return f"can't be set here: {why}"
    if name not in passed.taken:
        return f"unknown setting; {known_names(name, passed.taken)}"
    try:
        msgspec.convert(value, passed.taken[name])
    except msgspec.ValidationError as error:
        return wrong_value(error, passed.taken[name])
    return ""
