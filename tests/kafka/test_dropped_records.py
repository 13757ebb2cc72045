"""Records that were fetched and are not wanted any longer take no memory."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.consumer.subscription_state import Assignment

from tests.support.raw_names import batch_of
from tokenmill.kafka import dropped_records  # noqa: F401 -- which changes the client

PLACE = TopicPartition("t", 0)


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    """The collector of cycles does not run, as it hardly does in our processes."""
    gc.disable()
    yield
    gc.enable()


def _fetched(read: int) -> tuple[fetcher.FetchResult, Assignment, "weakref.ref[object]"]:
    """Return what a fetch brought, of which so many records were read, and whether its bytes are still there."""
    assignment = Assignment([PLACE])
    assignment.state_value(PLACE).seek(0)
    batches = fetcher.MemoryRecords(batch_of([(b"k", b"v", [])] * 3))
    records = fetcher.PartitionRecords(PLACE, batches, [], 0, None, None, True, fetcher.READ_COMMITTED)  # noqa: FBT003 -- checked
    result = fetcher.FetchResult(PLACE, assignment=assignment, partition_records=records, backoff=0)
    assert len(result.getall(max_records=read) if read else []) == read
    return result, assignment, weakref.ref(batches)


@pytest.mark.parametrize("read", [0, 1, 3])
async def test_what_is_dropped_is_freed(read: int) -> None:
    """As by an assignment of other partitions, or the end of a reader, however much of it was read."""
    result, _, held = _fetched(read)
    assert held() is not None
    del result
    assert held() is None


async def test_what_lies_elsewhere_is_freed() -> None:
    """As after a seek, or while the partition is paused: the fetch is dropped when it is its turn."""
    result, assignment, held = _fetched(1)
    assignment.state_value(PLACE).seek(0)
    assert result.getall() == []
    assert held() is None
    assert not result.has_more()


async def test_what_is_read_on_is_kept() -> None:
    """A look at a fetch that is still good changes nothing."""
    result, _, held = _fetched(1)
    assert result.check_assignment(PLACE)
    assert [record.offset for record in result.getall()] == [1, 2]
    assert not result.has_more()
    assert held() is None
