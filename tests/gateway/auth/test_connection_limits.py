"""Open connections against their caps."""

import logging
from contextlib import ExitStack

import pytest

from tokenmill.gateway.auth.connection_limits import RETRY_S, SAID_S, ConnectionLimits
from tokenmill.gateway.auth.grant import Grant
from tokenmill.gateway.problems import Refused


def named(name: str) -> Grant:
    return Grant(name, ("*",), frozenset({"read"}))


def refusal(places: ConnectionLimits, name: str) -> Refused:
    with pytest.raises(Refused) as refused, places.taken(named(name)):
        raise AssertionError
    return refused.value


def test_a_name_has_so_many_places() -> None:
    """Others are not concerned; a place that is given back can be taken again."""
    places = ConnectionLimits(10, 2)
    with places.taken(named("web")), places.taken(named("app")):
        with places.taken(named("web")):
            assert refusal(places, "web").kind.status == 429
            assert (places.of("web"), places.taken_now) == (2, 3)
        with places.taken(named("web")):
            assert places.of("web") == 2
    assert (places.of("web"), places.taken_now) == (0, 0)


def test_a_process_has_so_many_places() -> None:
    """For all names together, and for those without."""
    places = ConnectionLimits(3, 2)
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(places.taken(named("")))
        assert refusal(places, "").kind.status == 429
        assert refusal(places, "web").kind.status == 429
    with places.taken(named("web")):
        assert places.taken_now == 1


def test_without_a_name_only_the_process_counts() -> None:
    """Without `auth` all are one, and may be many."""
    places = ConnectionLimits(10, 1)
    with places.taken(named("")), places.taken(named("")):
        assert places.taken_now == 2


def test_a_place_is_given_back_whatever_ends_the_connection() -> None:
    """Names that are gone are forgotten: tokens bring new ones all day."""
    places = ConnectionLimits(10, 2)
    with pytest.raises(RuntimeError), places.taken(named("web")):
        raise RuntimeError
    assert places.taken_now == 0
    assert not places._by_name


def test_clients_are_told_to_come_again_at_different_times() -> None:
    """Or all that were refused would be back in the same second."""
    places = ConnectionLimits(0, 1)
    seconds = {int(refusal(places, "").headers["retry-after"]) for _ in range(200)}
    assert seconds == set(range(RETRY_S[0], RETRY_S[1] + 1))


def test_each_conversation_of_a_site_s_tickets_has_places_of_its_own() -> None:
    """All its users come with tickets of one key; the site itself still has its places, and nothing piles up."""
    places = ConnectionLimits(100, 2)
    with ExitStack() as stack:
        for number in range(20):
            ticket = Grant("web", (f"c{number}",), frozenset({"read"}), source="12ab", by_ticket=True)
            for _ in range(2):
                stack.enter_context(places.taken(ticket))
            with pytest.raises(Refused), places.taken(ticket):
                raise AssertionError
        stack.enter_context(places.taken(named("web")))
    assert not places._by_name


def test_all_tickets_of_a_site_have_half_of_the_places() -> None:
    """However many conversations they are for: whoever has its key may invent some, and others come, too."""
    places = ConnectionLimits(9, 3)
    with ExitStack() as stack:
        tickets = [
            Grant("web", (f"c{number}",), frozenset({"read"}), source="12ab", by_ticket=True) for number in "abcde"
        ]
        for ticket in tickets[:4]:
            stack.enter_context(places.taken(ticket))
        with pytest.raises(Refused, match="4 connections"), places.taken(tickets[4]):
            raise AssertionError
        stack.enter_context(places.taken(named("web")))
        other = Grant("app", ("c",), frozenset({"read"}), source="34cd", by_ticket=True)
        stack.enter_context(places.taken(other))
    with places.taken(tickets[4]):
        assert places.taken_now == 1
    assert (places.taken_now, places._by_name, places._by_site) == (0, {}, {})


def test_whoever_is_refused_is_named_in_the_log_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    """One who comes again and again does not fill it; whom a full process refuses is nobody in particular."""
    now = 100.0
    places = ConnectionLimits(2, 1, lambda: now)
    with caplog.at_level(logging.WARNING), places.taken(named("web\n")):
        refusal(places, "web\n")
        refusal(places, "web\n")
        assert caplog.messages == ["no more places for 'web\ufffd': 1 connections are open"]
        now += SAID_S
        with places.taken(named("app")):
            refusal(places, "third")
            assert len(caplog.messages) == 1
        refusal(places, "web\n")
        assert len(caplog.messages) == 2
