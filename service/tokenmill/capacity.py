"""What a load needs: plain arithmetic over measured figures, for `tokenmill capacity` and `docs/topics/operations.md`.

The figures are those of one machine, two cores of which the broker had its part. Their limits:

1. A worker's processor time for a record is that of text and some calls, in the format `hermes`. Formats with calls in
   every answer cost more.
2. A broker is taken to carry so many megabytes a second, copies included in what it can do: disks and networks differ.
3. Nothing is said of a cluster with more partitions than brokers are comfortable with, some thousands each. Of many
   partitions with little in each a broker has more work for a record: 3 times as much at 128 as at 32, on one.
"""

from math import ceil

import msgspec

from tokenmill.config.sections import Delivery, Kafka, Worker
from tokenmill.limits import KIB, MIB

RECORD_US = 11.0
"""Processor time of a worker for a record, in microseconds; measured from 7 to 17 on machines that others used, too."""

TOKEN_US = 1.0
"""And for each further token in it: one of 16 costs 2.6 times what one of one token does (`bench scale`)."""

BUSY = 0.5
"""Of a worker's one core: a rebalance gives it more partitions for a while, and lag is worked off with the rest."""

PARTITIONS_A_WORKER = 4
"""So that the partitions of one that goes are spread over several, and the work can grow fourfold."""

CHUNK_BYTES, EVENT_BYTES = 128, 254
"""Of a record on `tokens`, and of one on `events` with its headers, beside the key and the text itself: JSON, with
message ids of 32 characters."""

TOKEN_CHARS = 4
"""Of a token's text, in bytes too."""

USUAL_KEY_BYTES = 37
"""Of a conversation id: a UUID, and a byte for its length."""

OPEN_BYTES = round(1.6 * KIB)
"""Memory of an open message beside the text of a call that it holds."""

SNAPSHOT_BYTES = 236
"""Of an open message in Redis."""

PROCESS_MIB = 80
"""Memory of a worker without any message."""

RESTORED_PER_S = 100_000
"""Open messages that one worker restores from Redis in a second, at least."""

MOVE_S = 2.0
"""What a record waits at most when one of two workers leaves 32 partitions in an orderly way; 0.2 when it comes."""

TRANSACTIONS_PER_S = 40
"""Of one partition whose records do not pause, with exactly-once: 40 to 90 were measured on eight."""


MONTH_H = 730
"""Hours."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What comes in, and how it is kept."""

    conversations: int
    """Answers that are written at the same time."""
    tokens_per_s: float = 30.0
    """Of each."""
    tokens_per_record: float = 1.0
    delivery: Delivery = Worker().delivery
    keep_hours: float = 24.0
    """Of both topics."""
    copies: int = 3
    """Of each record."""
    readers: int = 1
    """Gateways and other consumers, each of which reads all events."""
    broker_mb_s: float = 50.0
    """Megabytes a second that one broker may write, copies of others' records included."""
    snapshot_interval_s: float = Worker().snapshot_interval_s
    session_timeout_s: float = Kafka().session_timeout_ms / 1_000
    """Until a worker that is silent is given up."""
    core_hour: float = 0.0
    """Price of a core of a worker for an hour, in any currency; 0 where it is not asked for."""
    broker_hour: float = 0.0
    """Of a broker."""
    gb_month: float = 0.0
    """Of a gigabyte of disk for a month."""


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes. Bytes are counted before compression; a megabyte is a million of them."""

    records_per_s: int
    worker_cores: float
    """Fully used."""
    workers: int
    """Processes of one core each, half used."""
    partitions: int
    worker_mib: int
    """Memory of each worker, beside what is on its way to Kafka."""
    tokens_mb_s: float
    """Into `tokens`."""
    events_mb_s: float
    """Into `events`."""
    network_mb_s: float
    """In and out of the cluster: producers, workers, readers; and between brokers."""
    brokers: int
    disk_gb: int
    """Of all brokers."""
    redis_mib: int
    """Beside Redis's own overhead for small fields."""
    redis_writes_per_s: int
    """Messages of which a snapshot is written."""
    transactions_per_s: int
    """At least, where records do not pause; 0 with at-least-once."""
    move_s: float
    """What a record waits at most when a worker leaves or comes in an orderly way."""
    takeover_s: float
    """From the death of a worker until the last of its partitions goes on."""
    month: float
    """What workers, brokers and disks cost in a month; 0 without prices."""
    million_tokens: float
    """Of that, what a million tokens cost."""


def need(load: Load) -> Need:
    """What the load takes."""
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
