"""What a load needs: the arithmetic, and that it hangs together."""

import re
from statistics import mean

import msgspec
import pytest

from tests.partition.logs import partition, record, run
from tests.structure.tree import DOCS
from tokenmill.capacity import (
    CHUNK_BYTES,
    EVENT_BYTES,
    OPEN_BYTES,
    SNAPSHOT_BYTES,
    TOKEN_CHARS,
    USUAL_KEY_BYTES,
    Load,
    need,
)
from tokenmill.records import InputRecord

STARTED_MS = 1_760_000_000_000

MILLION = Load(conversations=1_000_000, tokens_per_s=75)


def test_a_small_load_needs_one_worker_and_a_broker_for_each_copy() -> None:
    """Everything is rounded up."""
    found = need(Load(conversations=10))
    assert (found.records_per_s, found.workers, found.partitions, found.brokers) == (300, 1, 4, 3)
    assert (found.redis_mib, found.redis_writes_per_s, found.transactions_per_s) == (1, 1, 0)


def test_a_million_answers_need_what_is_said_of_them() -> None:
    """75 tokens a second each, one by one."""
    found = need(MILLION)
    assert (found.records_per_s, found.worker_cores, found.workers, found.partitions) == (75_000_000, 825.0, 1650, 6600)
    assert (found.redis_mib, found.redis_writes_per_s, found.takeover_s) == (226, 100_000, 30.0)
    assert need(msgspec.structs.replace(MILLION, delivery="exactly-once")).transactions_per_s == 264_000


@pytest.mark.parametrize(
    ("field", "value", "less"),
    [
        ("tokens_per_record", 6.0, ("workers", "partitions", "tokens_mb_s", "events_mb_s", "brokers", "disk_gb")),
        ("copies", 2, ("network_mb_s", "brokers", "disk_gb")),
        ("keep_hours", 1.0, ("disk_gb",)),
        ("readers", 0, ("network_mb_s",)),
        ("broker_mb_s", 200.0, ("brokers",)),
    ],
)
def test_what_makes_a_load_smaller(field: str, value: float, less: tuple[str, ...]) -> None:
    """And leaves the rest as it is, but for what follows from the number of workers."""
    before, after = need(MILLION), need(msgspec.structs.replace(MILLION, **{field: value}))
    for name in less:
        assert getattr(after, name) < getattr(before, name)


def test_prices_are_those_of_what_is_needed() -> None:
    """Workers by their cores, brokers, disk; and a million tokens has its share."""
    load = Load(conversations=10, core_hour=0.05, broker_hour=0.5, gb_month=0.1)
    found = need(load)
    assert found.month == round(730 * (found.workers * 0.05 + found.brokers * 0.5) + found.disk_gb * 0.1, 2)
    assert found.million_tokens == pytest.approx(found.month / (300 * 3_600 * 730) * 1e6, rel=1e-3)
    assert (need(MILLION).month, need(MILLION).million_tokens) == (0.0, 0.0)


def _chunks(number: int) -> list[InputRecord]:
    """So many chunks of one message, as a producer writes them, with ids of the usual length."""
    key = "k" * USUAL_KEY_BYTES
    fields = {"conversation_id": key, "message_id": "m" * 32, "delta": "x" * TOKEN_CHARS}
    return [
        msgspec.structs.replace(record(seq, fields | {"seq": seq}, key=key.encode()), timestamp=STARTED_MS + seq)
        for seq in range(number)
    ]


def test_its_sizes_are_those_of_real_records() -> None:
    """A chunk, and the event that comes of it; 32 characters are a message's id."""
    records = _chunks(100)
    size = mean(len(each.value or b"") for each in records[50:])
    assert size == pytest.approx(CHUNK_BYTES + TOKEN_CHARS, rel=0.05)
    out = run(partition(), records)[50:]
    sizes = [len(each.value or b"") + sum(len(name) + len(value) for name, value in each.headers) for each in out]
    assert mean(sizes) == pytest.approx(EVENT_BYTES + TOKEN_CHARS, rel=0.05)


def test_its_open_messages_are_those_that_were_measured() -> None:
    """By `bench memory`, whose page has them."""
    page = (DOCS / "topics" / "memory-benchmark.md").read_text(encoding="utf-8")
    (measured,) = re.findall(r"^- ([\d,]+) bytes for an open message", page, re.MULTILINE)
    assert int(measured.replace(",", "")) == pytest.approx(OPEN_BYTES, rel=0.05)


def test_its_snapshots_are_real_ones() -> None:
    """For a message after 200 characters of text, apart from memory that all messages share."""
    state = partition()
    run(state, _chunks(50))
    assert max(map(len, state.changes(full=True).changed.values())) == pytest.approx(SNAPSHOT_BYTES, rel=0.1)
