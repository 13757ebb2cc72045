"""Who somebody is, and what they may do."""

import pytest

from tokenmill.apis.record import own_conversation
from tokenmill.gateway.auth.grant import Credentials, Grant, forbidden, must_allow, unauthenticated
from tokenmill.gateway.problems import Refused

READER = Grant("web", ("web-*",), frozenset({"read", "stop"}), source="12ab")


@pytest.mark.parametrize(
    ("conversation", "action", "allowed"),
    [
        ("web-1", "read", True),
        ("web-1", "stop", True),
        ("web-1", "write", False),
        ("Web-1", "read", False),
        ("app-web-1", "read", False),
        ("web-", "read", True),
    ],
)
def test_a_grant_allows_its_actions_on_its_conversations(conversation: str, action: str, *, allowed: bool) -> None:
    """Both have to fit; upper and lower case differ."""
    assert READER.allows(conversation, action) is allowed  # type: ignore[arg-type] # parametrized


def test_what_a_grant_does_not_cover_is_refused() -> None:
    """With the action."""
    must_allow(READER, "web-1", "read")
    with pytest.raises(Refused) as refused:
        must_allow(READER, "app", "read")
    assert "are not allowed to read" in refused.value.detail


@pytest.mark.parametrize("conversation", ["a*", "*", "a?", "[a]"])
def test_the_conversation_of_a_ticket_is_no_pattern(conversation: str) -> None:
    """A conversation may be called `*`: a ticket for it must not open all others."""
    ticket = Grant("web", (conversation,), frozenset({"read"}), by_ticket=True)
    assert ticket.allows(conversation, "read")
    assert not ticket.allows("ab", "read")
    assert not ticket.allows("a", "read")


def test_connections_are_counted_by_name_and_those_of_a_site_s_tickets_by_conversation() -> None:
    """Whoever has a token of their own can't have more of them by tickets; who has no name is not counted."""
    ticket = Grant("web", ("web-1",), frozenset({"read"}), source="12ab", by_ticket=True)
    assert (READER.holder, ticket.holder) == ("web", "web, by tickets for web-1")
    of_a_token = Grant("user", ("web-1",), frozenset({"read"}), expires=5.0, by_ticket=True)
    nobody = Grant("", ("web-1",), frozenset({"read"}), by_ticket=True)
    assert (of_a_token.holder, nobody.holder) == ("user", "")


def test_a_name_owns_what_the_front_made_for_it() -> None:
    """Whatever its patterns are; nobody else's, nothing without a name, and no ticket's."""
    own = own_conversation("web", "x")
    assert READER.allows(own, "read")
    assert not READER.allows(own, "write")
    assert not READER.allows(own_conversation("web2", "x"), "read")
    nobody = Grant("", ("web-*",), frozenset({"read"}))
    assert not nobody.allows(own_conversation("", "x"), "read")
    ticket = Grant("web", ("web-1",), frozenset({"read"}), by_ticket=True)
    assert not ticket.allows(own, "read")


def test_what_the_front_made_for_a_name_is_nobody_else_s_by_a_pattern_of_everything() -> None:
    """A key of an application may well have `*`; one that is to show these, too, has a pattern that begins with `~`."""
    made = own_conversation("web2", "x")
    assert not Grant("web", ("*", "*~*"), frozenset({"read"})).allows(made, "read")
    assert Grant("operator", ("*", "~*"), frozenset({"read"})).allows(made, "read")
    assert Grant("operator", (made,), frozenset({"read"})).allows(made, "read")
    assert not Grant("operator", ("~*",), frozenset({"read"})).allows("web-1", "read")


def test_a_grant_covers_itself_and_its_tickets() -> None:
    """A ticket for more than the grant has now came of an older one."""
    ticket = Grant("web", ("web-1",), frozenset({"read"}), source="12ab", by_ticket=True)
    foreign = Grant("web", ("app-1",), frozenset({"read"}), source="12ab", by_ticket=True)
    assert READER.covers(READER)
    assert READER.covers(ticket)
    assert not READER.covers(foreign)
    assert not READER.covers(Grant("web", ("*",), frozenset({"read"}), source="12ab"))
    assert not READER.covers(Grant("web", ("web-1",), frozenset({"read"}), source="12ab"))
    for action, covered in (("stop", True), ("write", False)):
        both = Grant("web", ("web-1",), frozenset({"read", action}), source="12ab", by_ticket=True)  # type: ignore[arg-type] # a list of two kinds
        assert READER.covers(both) is covered


@pytest.mark.parametrize(
    ("headers", "bearer", "key"),
    [
        ({"authorization": "Bearer abc"}, "abc", "abc"),
        ({"authorization": "bearer  abc "}, "abc", "abc"),
        ({"authorization": "Basic YTpi"}, "", ""),
        ({"authorization": "Bearer"}, "", ""),
        ({"x-api-key": "abc"}, "", "abc"),
        ({"authorization": "Bearer abc", "x-api-key": "def"}, "abc", "abc"),
        ({}, "", ""),
    ],
)
def test_a_key_stands_in_one_of_two_headers(headers: dict[str, str], bearer: str, key: str) -> None:
    """`authorization` goes before `x-api-key`; other schemes are none."""
    credentials = Credentials(headers)
    assert (credentials.bearer, credentials.key) == (bearer, key)


def test_credentials_that_are_printed_show_no_secret() -> None:
    """Neither in a log by mistake, nor in a trace that `rich` prints."""
    credentials = Credentials({"authorization": "Bearer secret", "cookie": "secret"}, ticket="secret")
    for shown in (repr(credentials), f"{credentials}", repr(credentials.__rich_repr__())):
        assert "secret" not in shown
        assert "authorization" in shown


@pytest.mark.parametrize(("reason", "error"), [("missing", False), ("wrong", True), ("expired", True)])
def test_a_401_says_how_to_come_in(reason: str, *, error: bool) -> None:
    """RFC 6750: the challenge names no error for whoever sent nothing. The problem says which page can help itself."""
    refused = unauthenticated("send a key", reason)  # type: ignore[arg-type] # parametrized
    assert refused.response().status == 401
    assert refused.members == {"reason": reason}
    assert ('error="invalid_token"' in refused.headers["www-authenticate"]) is error


def test_a_403_says_what_is_not_allowed() -> None:
    """And nothing of the conversation."""
    assert forbidden("stop").kind.status == 403
    assert "stop" in forbidden("stop").detail
