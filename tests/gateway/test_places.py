"""Open connections against their caps."""

from contextlib import ExitStack

import pytest

from tokenmill.gateway.grant import Grant
from tokenmill.gateway.places import RETRY_S, Places
from tokenmill.gateway.problems import Refused


def named(name: str) -> Grant:
    return Grant(name, ("*",), frozenset({"read"}))


def refusal(places: Places, name: str) -> Refused:
    with pytest.raises(Refused) as refused, places.taken(named(name)):
        raise AssertionError
    return refused.value


def test_a_name_has_so_many_places() -> None:
    """Others are not concerned; a place that is given back can be taken again."""
    places = Places(10, 2)
    with places.taken(named("web")), places.taken(named("app")):
        with places.taken(named("web")):
            assert refusal(places, "web").kind.status == 429
            assert (places.of("web"), places.taken_now) == (2, 3)
        with places.taken(named("web")):
            assert places.of("web") == 2
    assert (places.of("web"), places.taken_now) == (0, 0)


def test_a_process_has_so_many_places() -> None:
    """For all names together, and for those without."""
    places = Places(3, 2)
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(places.taken(named("")))
        assert refusal(places, "").kind.status == 429
        assert refusal(places, "web").kind.status == 429
    with places.taken(named("web")):
        assert places.taken_now == 1


def test_without_a_name_only_the_process_counts() -> None:
    """Without `auth` all are one, and may be many."""
    places = Places(10, 1)
    with places.taken(named("")), places.taken(named("")):
        assert places.taken_now == 2


def test_a_place_is_given_back_whatever_ends_the_connection() -> None:
    """Names that are gone are forgotten: tokens bring new ones all day."""
    places = Places(10, 2)
    with pytest.raises(RuntimeError), places.taken(named("web")):
        raise RuntimeError
    assert places.taken_now == 0
    assert not places._by_name


def test_clients_are_told_to_come_again_at_different_times() -> None:
    """Or all that were refused would be back in the same second."""
    places = Places(0, 1)
    seconds = {int(refusal(places, "").headers["retry-after"]) for _ in range(200)}
    assert seconds == set(range(RETRY_S[0], RETRY_S[1] + 1))
