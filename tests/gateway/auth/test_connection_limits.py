"""Open connections against their caps."""

import logging
from contextlib import ExitStack

import pytest

from tokenmill.gateway.auth.connection_limits import RETRY_S, SAID_S, ConnectionLimits
from tokenmill.gateway.auth.grant import Grant
from tokenmill.gateway.problems import Refused


def named(name: str) -> Grant:
    return Grant(name, ("*",), frozenset({"read"}))


def refusal(limits: ConnectionLimits, name: str) -> Refused:
    with pytest.raises(Refused) as refused, limits.taken(named(name)):
        raise AssertionError
    return refused.value


def test_a_name_has_so_many_places() -> None:
    """Others are not concerned; a place that is given back can be taken again."""
    limits = ConnectionLimits(10, 2)
    with limits.taken(named("web")), limits.taken(named("app")):
        with limits.taken(named("web")):
            assert refusal(limits, "web").kind.status == 429
            assert (limits.of("web"), limits.taken_now) == (2, 3)
        with limits.taken(named("web")):
            assert limits.of("web") == 2
    assert (limits.of("web"), limits.taken_now) == (0, 0)


def test_a_process_has_so_many_places() -> None:
    """For all names together, and for those without."""
    limits = ConnectionLimits(3, 2)
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(limits.taken(named("")))
        assert refusal(limits, "").kind.status == 429
        assert refusal(limits, "web").kind.status == 429
    with limits.taken(named("web")):
        assert limits.taken_now == 1


def test_a_process_with_one_place_has_it_for_readers_of_a_site_too() -> None:
    """Half of one place would be none."""
    limits = ConnectionLimits(1, 1)
    with limits.taken(Grant("web", ("c",), frozenset({"read"}), source="digest", by_ticket=True)):
        assert limits.taken_now == 1


def test_without_a_name_only_the_process_counts() -> None:
    """Without `auth` all are one, and may be many."""
    limits = ConnectionLimits(10, 1)
    with limits.taken(named("")), limits.taken(named("")):
        assert limits.taken_now == 2


def test_a_place_is_given_back_whatever_ends_the_connection() -> None:
    """Names that are gone are forgotten: tokens bring new ones all day."""
    limits = ConnectionLimits(10, 2)
    with pytest.raises(RuntimeError), limits.taken(named("web")):
        raise RuntimeError
    assert limits.taken_now == 0
    assert not limits._by_name


def test_clients_are_told_to_come_again_at_different_times() -> None:
    """Or all that were refused would be back in the same second."""
    limits = ConnectionLimits(0, 1)
    seconds = {int(refusal(limits, "").headers["retry-after"]) for _ in range(200)}
    assert seconds == set(range(RETRY_S[0], RETRY_S[1] + 1))


def test_each_conversation_of_a_site_s_tickets_has_places_of_its_own() -> None:
    """All its users come with tickets of one key; the site itself still has its places, and nothing piles up."""
    limits = ConnectionLimits(100, 2)
    with ExitStack() as stack:
        for number in range(20):
            ticket = Grant("web", (f"c{number}",), frozenset({"read"}), source="12ab", by_ticket=True)
            for _ in range(2):
                stack.enter_context(limits.taken(ticket))
            with pytest.raises(Refused), limits.taken(ticket):
                raise AssertionError
        stack.enter_context(limits.taken(named("web")))
    assert not limits._by_name


def test_all_tickets_of_a_site_have_half_of_the_places() -> None:
    """However many conversations they are for: whoever has its key may invent some, and others come, too."""
    limits = ConnectionLimits(9, 3)
    with ExitStack() as stack:
        tickets = [
            Grant("web", (f"c{number}",), frozenset({"read"}), source="12ab", by_ticket=True) for number in "abcde"
        ]
        for ticket in tickets[:4]:
            stack.enter_context(limits.taken(ticket))
        with pytest.raises(Refused, match="4 connections"), limits.taken(tickets[4]):
            raise AssertionError
        stack.enter_context(limits.taken(named("web")))
        other = Grant("app", ("c",), frozenset({"read"}), source="34cd", by_ticket=True)
        stack.enter_context(limits.taken(other))
    with limits.taken(tickets[4]):
        assert limits.taken_now == 1
    assert (limits.taken_now, limits._by_name, limits._by_site) == (0, {}, {})


def test_whoever_is_refused_is_named_in_the_log_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    """One who comes again and again does not fill it; whom a full process refuses is nobody in particular."""
    now = 100.0
    limits = ConnectionLimits(2, 1, lambda: now)
    with caplog.at_level(logging.WARNING), limits.taken(named("web\n")):
        refusal(limits, "web\n")
        refusal(limits, "web\n")
        assert caplog.messages == ["refusing further connections for 'web\ufffd': 1 are open"]
        now += SAID_S
        with limits.taken(named("app")):
            refusal(limits, "third")
            assert len(caplog.messages) == 1
        refusal(limits, "web\n")
        assert len(caplog.messages) == 2
