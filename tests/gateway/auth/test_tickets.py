"""Tickets for URLs."""

import base64
import hashlib
import hmac
import re
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.clock import Clock
from tokenmill.gateway.auth.grant import Grant
from tokenmill.gateway.auth.tickets import Tickets
from tokenmill.gateway.problems import Refused

SECRET = "a secret that all gateways share"
GRANT = Grant("web", ("web-*",), frozenset({"read", "stop", "write"}), expires=5_000.0, source="12ab")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tickets(clock: Clock) -> Tickets:
    return Tickets(SECRET, 60, clock)


def test_a_ticket_is_good_for_what_it_was_made_for(tickets: Tickets) -> None:
    """One conversation, the actions asked for, the name behind it; it ends when the grant does, not with the ticket."""
    grant = tickets.redeem(tickets.issue(GRANT, "web-1", "read"))
    assert grant == Grant("web", ("web-1",), frozenset({"read"}), 5_000.0, "12ab", by_ticket=True)
    both = tickets.redeem(tickets.issue(GRANT, "web-1", "read", "stop"))
    assert both.actions == {"read", "stop"}


@given(conversation=st.text(max_size=40))
def test_a_ticket_opens_its_conversation_and_no_other(conversation: str) -> None:
    """Whatever its name; in a URL it needs no escapes."""
    tickets = Tickets(SECRET, 60)
    ticket = tickets.issue(Grant("", ("*", "~*"), frozenset({"read"})), conversation, "read")
    grant = tickets.redeem(ticket)
    assert grant.allows(conversation, "read")
    assert not grant.allows(f"{conversation}x", "read")
    assert not grant.allows(f"x{conversation}", "read")
    assert quote(ticket, safe="") == ticket


def test_a_ticket_may_be_used_again_until_it_expires(tickets: Tickets, clock: Clock) -> None:
    """An `EventSource` comes back with the URL that it has."""
    ticket = tickets.issue(GRANT, "web-1", "read")
    clock.now += 59
    assert tickets.redeem(ticket) == tickets.redeem(ticket)
    clock.now += 1
    with pytest.raises(Refused, match="expired") as refused:
        tickets.redeem(ticket)
    assert refused.value.kind.status == 401
    assert refused.value.members == {"reason": "expired"}


@pytest.mark.parametrize(
    ("grant", "conversation", "actions"),
    [
        (GRANT, "web-1", ["write"]),
        (GRANT, "web-1", ["read", "write"]),
        (GRANT, "app-1", ["read"]),
        (msgspec.structs.replace(GRANT, actions=frozenset({"read"})), "web-1", ["read", "stop"]),
    ],
)
def test_there_is_no_ticket_for_more_than_the_grant_or_for_writing(
    tickets: Tickets, grant: Grant, conversation: str, actions: list[str]
) -> None:
    """URLs end up in logs of proxies: what they open has to be little."""
    with pytest.raises(Refused) as refused:
        tickets.issue(grant, conversation, *actions)  # type: ignore[arg-type] # parametrized
    assert refused.value.kind.status == 403


def test_a_ticket_gets_no_further_ticket(tickets: Tickets) -> None:
    """Else one from a log could be renewed for ever."""
    grant = tickets.redeem(tickets.issue(GRANT, "web-1", "read"))
    with pytest.raises(Refused, match="use a ticket to get another one"):
        tickets.issue(grant, "web-1", "read")


def test_gateways_with_one_secret_take_each_others_tickets(clock: Clock) -> None:
    """Those with another, or with one that was drawn, do not."""
    ticket = Tickets(SECRET, 60, clock).issue(GRANT, "web-1", "read")
    assert Tickets(SECRET, 60, clock).redeem(ticket).allows("web-1", "read")
    for secret in ("another secret of enough length!", ""):
        with pytest.raises(Refused):
            Tickets(secret, 60, clock).redeem(ticket)
    drawn = Tickets("", 60, clock)
    assert drawn.redeem(drawn.issue(GRANT, "web-1", "read")).allows("web-1", "read")


def test_a_ticket_that_was_changed_anywhere_is_refused(tickets: Tickets) -> None:
    """Every character counts, padding that decoders pass over included."""
    ticket = tickets.issue(GRANT, "web-1", "read")
    changed = [ticket[:at] + ("A" if sign != "A" else "B") + ticket[at + 1 :] for at, sign in enumerate(ticket)]
    for forged in [*changed, f"{ticket}=", f"{ticket}.", f" {ticket}", f"{ticket}A", ticket[:-1], ticket.upper()]:
        with pytest.raises(Refused, match="not issued by this service"):
            tickets.redeem(forged)


@pytest.mark.parametrize("content", [b"", b"[]", b'["web-1",["read","write"],9e9,"web","",null]'])
def test_a_ticket_without_a_signature_is_refused(tickets: Tickets, content: bytes) -> None:
    """It says what it likes."""
    text = base64.urlsafe_b64encode(content).rstrip(b"=").decode()
    for forged in (text, f"{text}.", f".{text}", f"{text}.{text}"):
        with pytest.raises(Refused):
            tickets.redeem(forged)


@given(ticket=st.text(st.characters(), max_size=200) | st.text("abcAB01-_.=", max_size=200))
def test_nothing_that_somebody_makes_up_is_a_ticket(ticket: str) -> None:
    """A refusal, never another error; half of a surrogate pair neither."""
    with pytest.raises(Refused):
        Tickets(SECRET, 60).redeem(ticket)


def test_half_a_character_is_no_name_of_a_conversation(tickets: Tickets) -> None:
    """A name that has no bytes can't be signed."""
    with pytest.raises(Refused) as refused:
        tickets.issue(Grant("", ("*",), frozenset({"read"})), "web-\ud800", "read")
    assert refused.value.kind.status == 400
    with pytest.raises(Refused):
        tickets.redeem("\ud800.\udcff")


def test_the_secret_is_not_in_the_ticket(tickets: Tickets) -> None:
    """Nor is it used as it is: a signature that somebody gets elsewhere with the same secret is no ticket."""
    text, signature = tickets.issue(GRANT, "web-1", "read").split(".")
    assert SECRET not in base64.urlsafe_b64decode(text + "==").decode()
    assert re.fullmatch(r"[\w-]{43}", signature)
    naive = base64.urlsafe_b64encode(hmac.digest(SECRET.encode(), text.encode(), hashlib.sha256)).rstrip(b"=").decode()
    with pytest.raises(Refused):
        tickets.redeem(f"{text}.{naive}")
