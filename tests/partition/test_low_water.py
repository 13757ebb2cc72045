"""How far back a replay has to start."""

from collections import deque
from random import Random

from tokenmill.partition.low_water import SPANS, LowWater, Root


def test_without_anything_alive_it_is_the_offset_itself() -> None:
    """There is nothing to rebuild."""
    assert LowWater().at(7) == 7


def test_it_is_the_oldest_root_in_use() -> None:
    """Roots that are released in any order make way for the next oldest."""
    low_water = LowWater()
    first, second, third = (low_water.hold(low_water.root(offset)) for offset in (3, 5, 8))
    assert low_water.at(10) == 3
    low_water.release(second)
    assert low_water.at(10) == 3
    low_water.release(first)
    assert low_water.at(10) == 8
    low_water.release(third)
    assert low_water.at(10) == 10


def test_a_root_is_shared() -> None:
    """It counts until the last of its users is gone."""
    low_water = LowWater()
    root = low_water.hold(low_water.root(3))
    assert low_water.hold(low_water.root(3)) is root
    low_water.release(root)
    assert low_water.at(10) == 3
    low_water.release(root)
    assert low_water.at(10) == 10


def test_no_replay_starts_inside_a_forbidden_span() -> None:
    """The start moves to the beginning of the span, and of the next one if that is inside another."""
    low_water = LowWater()
    low_water.hold(low_water.root(20))
    low_water.forbid(14, 22)
    low_water.forbid(9, 15)
    low_water.forbid(2, 8)
    assert low_water.at(30) == 9
    assert low_water.spans == {14: 22, 9: 15}


def test_the_end_of_a_span_is_forbidden() -> None:
    """It is the late record itself, which would open the message."""
    for root, start in ((7, 3), (8, 8)):
        low_water = LowWater({3: 7})
        low_water.hold(low_water.root(root))
        assert low_water.at(30) == start


def test_the_start_of_a_span_is_allowed() -> None:
    """The record there opens the message as it was."""
    low_water = LowWater({20: 25})
    low_water.hold(low_water.root(20))
    assert low_water.at(30) == 20


def test_a_span_grows_and_never_shrinks() -> None:
    """Later late chunks of the same message extend it."""
    low_water = LowWater()
    for until in (5, 9, 7):
        low_water.forbid(3, until)
    assert low_water.spans == {3: 9}


def test_spans_behind_a_living_root_take_little_memory() -> None:
    """However many late chunks come while one message stays open. The start is outside of all of them, and near."""
    low_water = LowWater()
    oldest = low_water.hold(low_water.root(0))
    for late in range(5, 100_000, 5):
        low_water.forbid(late - 3, late)
        assert low_water.at(late + 1) == 0
        assert len(low_water.spans) <= 2 * SPANS
    low_water.hold(low_water.root(50_001))
    low_water.release(oldest)
    start = low_water.at(100_000)
    assert 50_001 - 100_000 // 32 <= start <= 50_001
    assert start % 5 in {1, 2}
    assert low_water.at(100_000) == start


def test_spans_that_overlap_take_little_memory() -> None:
    """Though no replay may start in any of them, and the oldest root goes on."""
    low_water = LowWater()
    root = low_water.hold(low_water.root(0))
    for late in range(3, 50_000, 2):
        low_water.release(root)
        root = low_water.hold(low_water.root(late - 2))
        low_water.forbid(late - 3, late)
        assert low_water.at(late + 1) == 0
        assert len(low_water.spans) <= 2 * SPANS


def test_where_many_messages_are_open_the_start_goes_on() -> None:
    """However long late chunks come, it is outside of all of them, and near the oldest root."""
    random, open_for = Random(1), 4_000
    low_water, forbidden = LowWater(), list[tuple[int, int]]()
    roots = deque(low_water.hold(low_water.root(offset)) for offset in range(0, open_for, 10))
    for offset in range(open_for, 40_000, 10):
        roots.append(low_water.hold(low_water.root(offset)))
        low_water.release(roots.popleft())
        forbidden.append((offset - random.randrange(1, 8), offset))
        low_water.forbid(*forbidden[-1])
        start, lowest = low_water.at(offset + 1), roots[0].offset
        assert lowest - open_for // 32 <= start <= lowest
        assert not any(after < start <= until for after, until in forbidden[-2 * open_for :])
        assert len(low_water.spans) <= 2 * SPANS


def test_dead_roots_behind_a_living_one_take_no_memory() -> None:
    """One message that stays open for long does not collect those that came and went."""
    low_water = LowWater()
    low_water.hold(low_water.root(0))
    for offset in range(1, 5_000):
        low_water.release(low_water.hold(low_water.root(offset)))
    assert low_water.at(5_000) == 0
    assert len(low_water._roots) == 1


def test_roots_of_a_snapshot_are_taken_over_in_any_order() -> None:
    """The oldest in use counts, and new ones come after them."""
    low_water = LowWater()
    newest, oldest = Root(8), Root(3)
    low_water.restore([low_water.hold(newest), low_water.hold(oldest)])
    assert low_water.at(10) == 3
    low_water.hold(low_water.root(10))
    low_water.release(oldest)
    assert low_water.at(11) == 8
    low_water.release(newest)
    assert low_water.at(11) == 10


def test_roots_in_use_are_counted_once_however_many_use_them() -> None:
    """By the number it is known whether the others take much room."""
    low_water = LowWater()
    roots = [low_water.hold(low_water.root(offset)) for offset in (1, 1, 2)]
    assert low_water._live == 2
    for root, left in zip(roots, (2, 1, 0), strict=True):
        low_water.release(root)
        assert low_water._live == left
