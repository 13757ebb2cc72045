"""What is kept of what was made: bounded by number and by bytes."""

from tokenmill.recent import Recent


def test_the_longest_unused_goes_first() -> None:
    """Where there are too many."""
    recent: Recent[str, int] = Recent(2, 100)
    recent.put("a", 1, 1)
    recent.put("b", 2, 1)
    assert recent.get("a") == 1
    recent.put("c", 3, 1)
    assert [recent.get(key) for key in "abc"] == [1, None, 3]
    assert (len(recent), recent.bytes) == (2, 2)


def test_what_is_kept_has_a_cap_in_bytes() -> None:
    """Few large ones take the place of many; one that is too large alone is not kept, and the others stay."""
    recent: Recent[str, int] = Recent(100, 100)
    for number, key in enumerate("abcd"):
        recent.put(key, number, 10)
    recent.put("e", 4, 80)
    assert [recent.get(key) for key in "abcde"] == [None, None, 2, 3, 4]
    assert recent.bytes == 100
    recent.put("f", 5, 101)
    assert (len(recent), recent.bytes) == (3, 100)
    recent.put("e", 6, 101)
    assert (recent.get("e"), len(recent)) == (None, 2)


def test_a_value_that_is_put_again_counts_once() -> None:
    """With its new size."""
    recent: Recent[str, int] = Recent(100, 100)
    recent.put("a", 1, 50)
    recent.put("a", 2, 60)
    assert (recent.get("a"), recent.bytes) == (2, 60)
