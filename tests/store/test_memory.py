"""What is special about the store in memory; the contract is in `test_base`."""

from tokenmill.store import MemoryStore, Place


async def test_what_a_reader_does_to_a_snapshot_stays_with_the_reader() -> None:
    """Fields are copied on the way in and on the way out."""
    store = MemoryStore()
    fields = {b"a": b"1"}
    await store.write_full("tokens", 0, None, Place(1, 1), b"", fields)
    fields.clear()
    first = await store.load("tokens", 0)
    assert first is not None
    first.fields.clear()
    second = await store.load("tokens", 0)
    assert second is not None
    assert second.fields == {b"a": b"1"}


async def test_what_went_elsewhere_is_forgotten() -> None:
    """The new owner keeps its own snapshots, and nobody would ever ask for this one."""
    store = MemoryStore()
    for partition in range(3):
        await store.write_full("tokens", partition, None, Place(1, 1), b"", {})
    store.keep([("tokens", 1), ("tokens", 7)])
    assert [await store.head("tokens", partition) is not None for partition in range(3)] == [False, True, False]
