"""Capacity planning: plain arithmetic over measured figures, for `tokenmill capacity` and `docs/topics/operations.md`.

The figures were measured on one machine with two cores, shared with the broker. Their limits:

1. A worker's processor time per record is that of text and some calls in the format `hermes`. Formats with calls in
   every answer cost more.
2. A broker's throughput is an assumption, in megabytes a second including copies: disks and networks differ.
3. The figures do not cover clusters with more partitions than brokers handle well, a few thousand each. With many
   partitions and little in each, a record costs a broker more: 3 times as much at 128 partitions as at 32, on one.
"""

from math import ceil

import msgspec

from tokenmill.config.sections import Delivery, Kafka, Worker
from tokenmill.limits import KIB, MIB

RECORD_US = 11.0
"""Microseconds of a worker's processor time per record; 7 to 17 were measured on shared machines."""

TOKEN_US = 1.0
"""Microseconds for each further token in it: a record of 16 tokens costs 2.6 times one of one (`bench scale`)."""

BUSY = 0.5
"""Fraction of a worker's core in use: the rest is for partitions taken over in a rebalance, and for working off lag."""

PARTITIONS_A_WORKER = 4
"""Partitions per worker: those of a leaving worker are spread over several, and the work can grow fourfold."""

CHUNK_BYTES, EVENT_BYTES = 128, 254
"""Bytes of a record on `tokens`, and of one on `events` with its headers, besides the key and the text itself: JSON,
with message ids of 32 characters."""

TOKEN_CHARS = 4
"""Characters of a token's text, and its bytes."""

USUAL_KEY_BYTES = 37
"""Bytes of a conversation id: a UUID, and a byte for its length."""

OPEN_BYTES = round(1.8 * KIB)
"""Bytes of memory of an open message, besides the text of a call that it holds."""

SNAPSHOT_BYTES = 236
"""Bytes of an open message in Redis."""

PROCESS_MIB = 80
"""MiB of memory of a worker without any message."""

RESTORED_PER_S = 100_000
"""Open messages that one worker restores from Redis per second, at least."""

MOVE_S = 2.0
"""Seconds that a record waits at most when one of two workers leaves 32 partitions in order; 0.2 when it joins."""

TRANSACTIONS_PER_S = 40
"""Transactions of one partition without pauses, with exactly-once: 40 to 90 were measured on eight."""


MONTH_H = 730
"""Hours in a month."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The input, and how it is kept."""

    conversations: int
    """Answers that are written at the same time."""
    tokens_per_s: float = 30.0
    """Tokens per second of each answer."""
    tokens_per_record: float = 1.0
    delivery: Delivery = Worker().delivery
    keep_hours: float = 24.0
    """Retention of both topics."""
    copies: int = 3
    """Replicas of each record."""
    readers: int = 1
    """Gateways and other consumers, each of which reads all events."""
    broker_mb_s: float = 50.0
    """Megabytes per second that one broker may write, including copies of other brokers' records."""
    snapshot_interval_s: float = Worker().snapshot_interval_s
    session_timeout_s: float = Kafka().session_timeout_ms / 1_000
    """Silence after which a worker is given up."""
    core_hour: float = 0.0
    """Price of a worker's core for an hour, in any currency; 0: not calculated."""
    broker_hour: float = 0.0
    """Price of a broker for an hour."""
    gb_month: float = 0.0
    """Price of a gigabyte of disk for a month."""


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """The resources needed. Bytes are counted before compression; a megabyte is a million of them."""

    records_per_s: int
    worker_cores: float
    """Cores if fully used."""
    workers: int
    """Processes of one half-used core each."""
    partitions: int
    worker_mib: int
    """Memory of each worker, besides output on its way to Kafka."""
    tokens_mb_s: float
    """Megabytes per second into `tokens`."""
    events_mb_s: float
    """Megabytes per second into `events`."""
    network_mb_s: float
    """Megabytes per second in and out of the cluster, for producers, workers and readers, and between brokers."""
    brokers: int
    disk_gb: int
    """Gigabytes of disk on all brokers."""
    redis_mib: int
    """MiB in Redis, besides its own overhead for small fields."""
    redis_writes_per_s: int
    """Messages per second whose snapshot is written."""
    transactions_per_s: int
    """Transactions per second, at least, if records do not pause; 0 with at-least-once."""
    move_s: float
    """Seconds that a record waits at most when a worker leaves or joins in an orderly way."""
    takeover_s: float
    """Seconds from the death of a worker until the last of its partitions continues."""
    month: float
    """Price of workers, brokers and disks for a month; 0 without prices."""
    million_tokens: float
    """Price of a million tokens, as part of that."""


def need(load: Load) -> Need:
    """Return what the load needs."""
    records = load.conversations * load.tokens_per_s / load.tokens_per_record
    cores = records * (RECORD_US + TOKEN_US * (load.tokens_per_record - 1)) / 1e6
    workers = max(1, ceil(cores / BUSY))
    partitions = PARTITIONS_A_WORKER * workers
    text = load.tokens_per_record * TOKEN_CHARS
    tokens, events = (records * (own + USUAL_KEY_BYTES + text) / 1e6 for own in (CHUNK_BYTES, EVENT_BYTES))
    written = (tokens + events) * load.copies
    open_each = ceil(load.conversations / workers)
    brokers, disk = max(load.copies, ceil(written / load.broker_mb_s)), ceil(written * load.keep_hours * 3_600 / 1_000)
    month = MONTH_H * (workers * load.core_hour + brokers * load.broker_hour) + disk * load.gb_month
    tokens_month = load.conversations * load.tokens_per_s * MONTH_H * 3_600
    return Need(
        records_per_s=round(records),
        worker_cores=round(cores, 2),
        workers=workers,
        partitions=partitions,
        worker_mib=ceil(PROCESS_MIB + open_each * OPEN_BYTES / MIB),
        tokens_mb_s=round(tokens, 2),
        events_mb_s=round(events, 2),
        network_mb_s=round(written + tokens + events * load.readers, 2),
        brokers=brokers,
        disk_gb=disk,
        redis_mib=ceil(load.conversations * SNAPSHOT_BYTES / MIB),
        redis_writes_per_s=round(load.conversations / load.snapshot_interval_s),
        transactions_per_s=TRANSACTIONS_PER_S * partitions if load.delivery == "exactly-once" else 0,
        move_s=MOVE_S,
        takeover_s=round(load.session_timeout_s + open_each / RESTORED_PER_S, 1),
        month=round(month, 2),
        million_tokens=round(month / tokens_month * 1e6, 6),
    )
