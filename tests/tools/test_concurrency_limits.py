"""How many calls run at once."""

from tokenmill.tools.concurrency_limits import ConcurrencyLimits


def test_there_are_so_many_of_a_server_and_of_all() -> None:
    """One that is given back can be taken, and whoever waits is told."""
    limits, told = ConcurrencyLimits(3, 2), list[int]()
    end = limits.watch(lambda: told.append(1))
    assert [limits.acquire(server) for server in ("a", "a", "a", "b", "c")] == [True, True, False, True, False]
    limits.release("b")
    assert told == [1]
    assert [limits.acquire(server) for server in ("a", "c", "c")] == [False, True, False]
    end()
    limits.release("a")
    assert told == [1]


def test_a_server_may_have_a_number_of_its_own() -> None:
    """Such as one, for tools that do not bear another beside them."""
    limits = ConcurrencyLimits(9, 2, {"alone": 1, "many": 3})
    assert [limits.acquire("alone"), limits.acquire("alone")] == [True, False]
    assert [limits.acquire("many") for _ in range(4)] == [True, True, True, False]
    assert [limits.acquire("other") for _ in range(3)] == [True, True, False]


def test_a_place_that_is_given_back_is_one_place() -> None:
    """The other calls of that server still have theirs."""
    limits = ConcurrencyLimits(9, 2)
    assert [limits.acquire("a"), limits.acquire("a")] == [True, True]
    limits.release("a")
    assert [limits.acquire("a"), limits.acquire("a")] == [True, False]


def test_names_that_nobody_uses_are_forgotten() -> None:
    """A model may make up as many as it likes."""
    limits = ConcurrencyLimits(9, 2)
    for number in range(3):
        assert limits.acquire(f"server{number}")
        limits.release(f"server{number}")
    assert not limits._taken
