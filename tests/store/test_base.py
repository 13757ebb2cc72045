"""The contract of a snapshot store, over every store there is; that of Redis on a real server."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tokenmill.limits import SNAPSHOT_PAGE_BYTES, SNAPSHOT_PAGE_FIELDS
from tokenmill.store import Head, HeadChanged, MemoryStore, Place, RedisStore, SnapshotStore

TOPIC = "tokens"
MANY = {b"%d" % number: b"value %d" % number for number in range(3 * SNAPSHOT_PAGE_FIELDS + 7)}


@pytest.fixture(params=["memory", "redis"])
async def store(request: pytest.FixtureRequest, unique: str) -> AsyncIterator[SnapshotStore]:
    """Each store in turn, empty."""
    found: SnapshotStore
    if request.param == "memory":
        found = MemoryStore()
    else:
        found = RedisStore(request.getfixturevalue("redis_url"), group="group", prefix=unique, timeout=5)
    yield found
    await found.close()


async def _full(store: SnapshotStore, offset: int = 10, base: Head | None = None) -> Head:
    return await store.write_full(TOPIC, 0, base, Place(1, offset), b"meta", {b"a": b"1", b"b": b"2"})


async def test_a_partition_without_a_snapshot_has_none(store: SnapshotStore) -> None:
    """Nothing was written: no snapshot and no head."""
    assert await store.load(TOPIC, 0) is None
    assert await store.head(TOPIC, 0) is None


async def test_a_full_write_is_read_back(store: SnapshotStore) -> None:
    """Meta, fields and where it stands; of its own partition only."""
    head = await _full(store)
    snapshot = await store.load(TOPIC, 0)
    assert snapshot is not None
    assert (snapshot.meta, snapshot.fields) == (b"meta", {b"a": b"1", b"b": b"2"})
    assert snapshot.head == head == await store.head(TOPIC, 0)
    assert (head.epoch, head.offset, head.fields) == (1, 10, 2)
    assert await store.load(TOPIC, 1) is None


async def test_an_empty_snapshot_is_one(store: SnapshotStore) -> None:
    """No message is open: that is a state, too."""
    head = await store.write_full(TOPIC, 0, None, Place(1, 10), b"meta", {})
    snapshot = await store.load(TOPIC, 0)
    assert snapshot is not None
    assert (snapshot.fields, snapshot.head) == ({}, head)


async def test_a_full_write_of_many_pages_is_read_back(store: SnapshotStore) -> None:
    """More fields than a page may have, and a value that is longer than a page."""
    fields = MANY | {b"long": b"x" * (SNAPSHOT_PAGE_BYTES + 1)}
    await store.write_full(TOPIC, 0, None, Place(1, 10), b"", fields)
    snapshot = await store.load(TOPIC, 0)
    assert snapshot is not None
    assert snapshot.fields == fields


async def test_a_full_write_replaces_what_it_knows(store: SnapshotStore) -> None:
    """With the head as its base it leaves nothing of the old fields."""
    first = await _full(store)
    second = await store.write_full(TOPIC, 0, first, Place(2, 20), b"new", {b"c": b"3"})
    snapshot = await store.load(TOPIC, 0)
    assert snapshot is not None
    assert (snapshot.meta, snapshot.fields, snapshot.head) == (b"new", {b"c": b"3"}, second)
    assert second.generation != first.generation


async def test_a_full_write_over_something_unknown_changes_nothing(store: SnapshotStore) -> None:
    """Another writer came in between; the exception holds the current head."""
    head = await _full(store)
    stale = Head("other", 0, 5, 2)
    for base in (None, stale):
        with pytest.raises(HeadChanged) as refusal:
            await _full(store, 30, base)
        assert refusal.value.head == head
    snapshot = await store.load(TOPIC, 0)
    assert snapshot is not None
    assert snapshot.head == head


async def test_a_full_write_over_a_head_that_is_gone_is_refused(store: SnapshotStore) -> None:
    """The store lost it: the writer has to hear of that."""
    with pytest.raises(HeadChanged) as refusal:
        await _full(store, 30, Head("gone", 1, 10, 2))
    assert refusal.value.head is None


async def test_a_delta_changes_adds_and_removes(store: SnapshotStore) -> None:
    """On top of exactly the write that it was made for."""
    base = await _full(store)
    changed = {b"b": b"two", b"c": b"3"}
    head = await store.write_delta(TOPIC, 0, base, Place(1, 11), b"newer", changed, [b"a", b"never"])
    snapshot = await store.load(TOPIC, 0)
    assert snapshot is not None
    assert snapshot.fields == changed
    assert (snapshot.meta, snapshot.head) == (b"newer", head)
    assert (head.generation, head.offset, head.fields) == (base.generation, 11, 2)


async def test_a_delta_of_many_pages_and_the_next_one(store: SnapshotStore) -> None:
    """Pages of changed and removed fields are one write, with its meta; another delta builds on it."""
    base = await store.write_full(TOPIC, 0, None, Place(1, 10), b"", MANY)
    removed = [key for key in MANY if len(key) > 3]
    changed = {b"new %d" % number: b"x" for number in range(2 * SNAPSHOT_PAGE_FIELDS)}
    second = await store.write_delta(TOPIC, 0, base, Place(1, 11), b"meta", changed, removed)
    between = await store.load(TOPIC, 0)
    assert between is not None
    assert (between.head, between.meta) == (second, b"meta")
    third = await store.write_delta(TOPIC, 0, second, Place(1, 12), b"", {}, [])
    snapshot = await store.load(TOPIC, 0)
    assert snapshot is not None
    assert snapshot.head == third
    assert snapshot.fields == {key: value for key, value in MANY.items() if len(key) <= 3} | changed


@pytest.mark.parametrize("place", [Place(1, 11), Place(2, 11), Place(1, 9)])
async def test_a_delta_on_another_base_changes_nothing(store: SnapshotStore, place: Place) -> None:
    """A zombie's delta, a repeated one, one on a lost write: all are refused, and the snapshot stays as it was."""
    old = await _full(store)
    head = await store.write_delta(TOPIC, 0, old, Place(2, 12), b"", {b"c": b"3"}, [])
    with pytest.raises(HeadChanged) as refusal:
        await store.write_delta(TOPIC, 0, old, place, b"", {b"b": b"wrong"}, [b"a"])
    assert refusal.value.head == head
    snapshot = await store.load(TOPIC, 0)
    assert snapshot is not None
    assert snapshot.fields == {b"a": b"1", b"b": b"2", b"c": b"3"}


@pytest.mark.parametrize("other", [{"generation": "other"}, {"epoch": 2}, {"offset": 9}, {"fields": 3}])
async def test_each_part_of_a_delta_s_base_has_to_agree(store: SnapshotStore, other: dict[str, Any]) -> None:
    """A fence that is compared in part lets someone through."""
    head = await _full(store)
    with pytest.raises(HeadChanged):
        await store.write_delta(TOPIC, 0, msgspec.structs.replace(head, **other), Place(1, 11), b"", {}, [])
    assert await store.head(TOPIC, 0) == head


async def test_a_delta_without_a_snapshot_is_refused(store: SnapshotStore) -> None:
    """The store was emptied since."""
    with pytest.raises(HeadChanged) as refusal:
        await store.write_delta(TOPIC, 0, Head("gone", 1, 10, 2), Place(1, 11), b"", {b"b": b"2"}, [])
    assert refusal.value.head is None
    assert await store.load(TOPIC, 0) is None
