"""How many calls run at once."""

from tokenmill.tools.places import Places


def test_there_are_so_many_of_a_server_and_of_all() -> None:
    """One that is given back can be taken, and whoever waits is told."""
    places, told = Places(3, 2), list[int]()
    end = places.watch(lambda: told.append(1))
    assert [places.take(server) for server in ("a", "a", "a", "b", "c")] == [True, True, False, True, False]
    places.give_back("b")
    assert told == [1]
    assert [places.take(server) for server in ("a", "c", "c")] == [False, True, False]
    end()
    places.give_back("a")
    assert told == [1]


def test_a_server_may_have_a_number_of_its_own() -> None:
    """Such as one, for tools that do not bear another beside them."""
    places = Places(9, 2, {"alone": 1, "many": 3})
    assert [places.take("alone"), places.take("alone")] == [True, False]
    assert [places.take("many") for _ in range(4)] == [True, True, True, False]
    assert [places.take("other") for _ in range(3)] == [True, True, False]


def test_names_that_nobody_uses_are_forgotten() -> None:
    """A model may make up as many as it likes."""
    places = Places(9, 2)
    for number in range(3):
        assert places.take(f"server{number}")
        places.give_back(f"server{number}")
    assert not places._taken
