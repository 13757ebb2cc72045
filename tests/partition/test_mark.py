"""The metadata string of a commit."""

import pytest

from tokenmill.limits import COMMIT_METADATA_BYTES
from tokenmill.partition import LogId, Mark
from tokenmill.partition.missing import Missing
from tokenmill.partition.recovery import ANNOUNCED_SPANS

LARGEST = Mark(
    offset=2**63,
    low_water=2**63,
    fingerprint="f" * 16,
    count=2**63,
    digest=2**64 - 1,
    unseen_until=2**63,
    foreign_until=2**63,
    announced=((2**63, 2**63),) * ANNOUNCED_SPANS,
    missing=Missing(2**63, 2**63, 2**63),
    log=LogId("c" * 22, "t" * 22, 2**31),
    epoch=2**31,
)


@pytest.mark.parametrize("mark", [Mark(5, 3, "abc"), Mark(5, 3, "abc", count=2, digest=2**64 - 1), LARGEST])
def test_a_mark_comes_back(mark: Mark) -> None:
    """Through the string that Kafka keeps."""
    assert Mark.decode(mark.encode()) == mark


def test_a_mark_of_before_is_of_an_unknown_log() -> None:
    """Commits that were made when nobody asked which log it is."""
    mark = Mark.decode('{"offset":5,"low_water":3,"fingerprint":"abc"}')
    assert mark is not None
    assert (mark.log, mark.epoch) == (LogId(), -1)
    assert not mark.log.is_another(LogId("c", "t"))


def test_the_largest_mark_fits() -> None:
    """Below what a broker takes by default."""
    assert len(LARGEST.encode().encode()) < COMMIT_METADATA_BYTES / 3


@pytest.mark.parametrize(
    "text",
    [None, "", "x", "{}", "[]", '{"offset":1}', '{"offset":"1","low_water":0,"fingerprint":""}', '{"x":' + "[" * 5_000],
)
def test_other_metadata_is_none(text: str | None) -> None:
    """Offsets that were reset by hand, or committed by another program."""
    assert Mark.decode(text) is None
