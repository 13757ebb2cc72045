"""The window: caps hold, what is oldest goes first, and there is never a hole in it."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from tokenmill.gateway.event_log.entry import Entry
from tokenmill.gateway.event_log.window import KEY_BYTES, TURN_BYTES, Windows


def entry(partition: int, offset: int, key: bytes = b"c", size: int = 100) -> Entry:
    return Entry(partition, offset, key, b"x" * size, message=b"m")


def test_a_conversation_is_found_among_others() -> None:
    """From any offset on, in order."""
    windows = Windows(1 << 20, 60)
    window = windows.open(0, 0)
    windows.add(0, [entry(0, at, b"ab"[at % 2 : at % 2 + 1]) for at in range(10)], 10, now=0)
    assert [each.offset for each in window.of(b"a", 3)[0]] == [4, 6, 8]
    assert window.of(b"nobody", 0) == ([], 10)
    assert (window.first, window.end) == (0, 10)


def test_much_is_found_in_turns() -> None:
    """Each of a bounded size, but for a record that is larger; the last one comes to the end."""
    windows = Windows(1 << 30, 60)
    window = windows.open(0, 0)
    sizes = [TURN_BYTES // 3] * 5 + [TURN_BYTES * 2] + [10] * 3
    windows.add(0, [entry(0, at, b"c", size) for at, size in enumerate(sizes)], 20, now=0)
    turns, start = list[list[int]](), 0
    while start < window.end:
        found, start = window.of(b"c", start)
        turns.append([each.offset for each in found])
    assert turns == [[0, 1], [2, 3], [4], [5], [6, 7, 8]]


def test_the_oldest_record_goes_first_whoever_s_it_is() -> None:
    """A busy partition does not push out more than its own records and those that are older."""
    one = entry(0, 0).size
    windows = Windows(3 * one + 2 * KEY_BYTES, 60)
    quiet, busy = windows.open(0, 0), windows.open(1, 0)
    windows.add(1, [entry(1, 0)], 1, now=0)
    windows.add(0, [entry(0, 0)], 1, now=1)
    windows.add(1, [entry(1, 1), entry(1, 2)], 3, now=2)
    assert windows.size == 3 * one + 2 * KEY_BYTES
    assert (busy.first, [each.offset for each in busy.of(b"c", 0)[0]]) == (1, [1, 2])
    assert (quiet.first, len(quiet.of(b"c", 0)[0])) == (0, 1)


def test_what_is_too_old_goes_even_if_there_is_room() -> None:
    """A quiet conversation's last answer is read from the log then."""
    windows = Windows(1 << 20, 60)
    window = windows.open(0, 5)
    windows.add(0, [entry(0, 5)], 6, now=0)
    windows.expire(now=59)
    assert window.of(b"c", 0)[0]
    windows.expire(now=61)
    assert (window.of(b"c", 0), window.first, window.by_key, windows.size) == (([], 6), 6, {}, 0)


def test_a_record_that_is_larger_than_the_cap_is_not_kept() -> None:
    """It is told to those at the head all the same; others read it from the log."""
    windows = Windows(1_000, 60)
    window = windows.open(0, 0)
    windows.add(0, [entry(0, 0, size=5_000)], 1, now=0)
    assert (windows.size, window.first, window.end) == (0, 1, 1)


def test_one_that_is_dropped_says_so_to_those_who_hold_it() -> None:
    """They would wait for records that nobody adds; others' windows stay."""
    windows = Windows(1 << 20, 60)
    first, other = windows.open(0, 0), windows.open(1, 0)
    windows.add(0, [entry(0, 0)], 1, now=0)
    windows.add(1, [entry(1, 0)], 1, now=0)
    second = windows.open(0, 9)
    assert (first.dropped, other.dropped) == (True, False)
    assert windows.size == entry(1, 0).size + KEY_BYTES
    assert (windows.get(0), windows.get(1), dict(windows)) == (second, other, {0: second, 1: other})
    windows.drop(0)
    windows.drop(0)
    assert (second.dropped, windows.get(0)) == (True, None)
    windows.expire(now=100)
    assert (windows.size, windows.records, other.first) == (0, 0, 1)


ADDED = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([b"a", b"b"]), st.integers(1, 400)), max_size=60)


@given(ADDED, st.integers(1_000, 6_000))
def test_a_window_has_no_hole_and_no_more_than_its_cap(added: list[tuple[int, bytes, int]], cap: int) -> None:
    """Of every partition it holds all records from `first` on, whatever came before them."""
    windows, came = Windows(cap, 1e9), list[Entry]()
    for partition in range(3):
        windows.open(partition, 0)
    for offset, (partition, key, size) in enumerate(added):
        came.append(entry(partition, offset, key, size))
        windows.add(partition, came[-1:], offset + 1, now=offset)
        assert windows.size <= cap
        for number, window in windows:
            held = sorted(each.offset for key in (b"a", b"b") for each in window.of(key, 0)[0])
            assert held == [each.offset for each in came if each.partition == number and each.offset >= window.first]
    kept = [held for _, window in windows for held in window.by_key.values()]
    assert windows.size == sum(each.size for held in kept for each in held) + len(kept) * KEY_BYTES


def test_the_cap_counts_what_a_conversation_takes_besides_its_records() -> None:
    """With one record of each, the windows took two and a half times their cap."""
    windows = Windows(1 << 30, 60)
    windows.open(0, 0)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for at in range(5_000):
            windows.add(0, [entry(0, at, b"conversation-%d" % at)], at + 1, now=float(at))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert windows.size > 0.8 * (after - before)
