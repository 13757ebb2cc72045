"""Which version a request has, and what is read from the beginnings of record batches."""

import struct
from io import BytesIO
from types import SimpleNamespace

import pytest
from aiokafka.errors import IncompatibleBrokerVersion
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from tokenmill.kafka.log_protocol import END, Ask, epoch_ends, epochs_of, fetched, list_offsets, metadata

KAFKA_4 = {2: (1, 11), 3: (0, 13), 23: (2, 4)}
OLD = {2: (0, 3), 3: (0, 5), 23: (0, 1)}

ASKED = {
    "metadata": metadata("tokens"),
    "offsets": list_offsets("tokens", {0: 7}, END),
    "epochs": epoch_ends("tokens", {0: (7, 6)}),
}


@pytest.mark.parametrize(("name", "newest", "oldest"), [("metadata", 10, 2), ("offsets", 5, 2)])
def test_the_newest_version_is_taken_that_both_know(name: str, newest: int, oldest: int) -> None:
    """A current broker reports everything, an old one what it can."""
    ask = ASKED[name]
    assert (newest, oldest) == (ask.prepare(KAFKA_4).API_VERSION, ask.prepare(OLD).API_VERSION)


@pytest.mark.parametrize("versions", [OLD, {}])
def test_what_a_broker_does_not_know_is_not_asked(versions: dict[int, tuple[int, int]]) -> None:
    """Nor one whose versions are not known."""
    with pytest.raises(IncompatibleBrokerVersion):
        ASKED["epochs"].prepare(versions)


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_what_is_asked_can_be_written(ask: Ask) -> None:
    """In each version; and read back."""
    for version in range(14):
        versions = {ask.key: (version, version)}
        try:
            request = ask.prepare(versions)
        except IncompatibleBrokerVersion:
            continue
        assert type(request).decode(BytesIO(request.encode())).encode() == request.encode()


def _batch(offset: int, epoch: int, records: int = 1) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=-1,
        batch_size=10_000,
    )  # fmt: skip
    for number in range(records):
        builder.append(number, timestamp=1, key=b"k", value=b"v", headers=[])
    built = bytearray(builder.build())
    struct.pack_into(">q", built, 0, offset)
    struct.pack_into(">i", built, 12, epoch)
    return bytes(built)


def test_epochs_are_read_of_batches() -> None:
    """Where they change; the last batch may be cut off in the middle."""
    batches = _batch(5, 2, 3) + _batch(8, 2) + _batch(9, 4) + _batch(10, 4, 9)
    assert list(epochs_of(batches)) == [(5, 2), (9, 4)]
    assert list(epochs_of(batches[:-10])) == [(5, 2), (9, 4)]
    assert list(epochs_of(batches[:16])) == []


def test_only_answers_to_fetches_have_batches() -> None:
    """Others pass."""
    answer = SimpleNamespace(API_KEY=1, topics=[("tokens", [(0, 0, 9, 9, [], b"batches"), (1, 0, 9, 9, [], b"")])])
    assert list(fetched(answer)) == [("tokens", 0, b"batches")]
    assert list(fetched(SimpleNamespace(API_KEY=3))) == []
