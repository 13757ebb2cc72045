"""Who may do what."""

import hashlib
import importlib.util
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp.test_utils import make_mocked_request

from tests.support.clock import Clock
from tokenmill.apis.record import own_conversation
from tokenmill.config import Gateway
from tokenmill.errors import ConfigError
from tokenmill.gateway.auth.authorizer import (
    Action,
    Authorizer,
    Credentials,
    Grant,
    TicketAuthorizer,
    authorised,
    credentials_of,
    make_authorizer,
)
from tokenmill.gateway.auth.grant import CREDENTIAL_CHARACTERS
from tokenmill.gateway.auth.tickets import Tickets
from tokenmill.gateway.problems import Refused

KEY = "0fe3aa8124cc"


class Known(Authorizer):
    """Knows one grant, which can be taken back."""

    def __init__(self, grant: Grant) -> None:
        self.known = grant
        self.good = True
        self.prepared = False

    async def grant(self, credentials: Credentials) -> Grant:  # noqa: ARG002 -- knows one
        return self.known

    def holds(self, grant: Grant) -> bool:  # noqa: ARG002 -- it or its ticket
        return self.good

    async def prepare(self) -> None:
        self.prepared = True


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def known() -> Known:
    return Known(Grant("web", ("web-*",), frozenset({"read", "stop"}), expires=1_500.0))


@pytest.fixture
def authorizer(known: Known, clock: Clock) -> TicketAuthorizer:
    return TicketAuthorizer(known, Tickets("", 60, clock), clock)


def keys_file(folder: Path) -> str:
    file = folder / "keys.toml"
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    file.write_text(f'[[keys]]\nname="web"\nsha256="{digest}"\nconversations=["web-*"]\nactions=["read"]\n')
    return str(file)


async def status(authorizer: TicketAuthorizer, credentials: Credentials, conversation: str, action: Action) -> int:
    """What a request is answered with, 200 if nothing speaks against it."""
    try:
        await authorised(authorizer, credentials, conversation, action)
    except Refused as refused:
        return refused.kind.status
    return 200


async def test_without_auth_everybody_may_do_everything() -> None:
    """Under no name, so that nobody's connections are counted."""
    grant = await authorised(make_authorizer(Gateway()), Credentials(), "any", "write")
    assert grant.name == ""
    assert grant.expires is None
    assert grant.allows(own_conversation("", "x"), "read")


async def test_who_is_not_known_gets_a_401_and_who_may_not_a_403(tmp_path: Path) -> None:
    """Whether there is such a conversation or not."""
    authorizer = make_authorizer(Gateway(auth="keys", keys_file=keys_file(tmp_path)))
    key = Credentials({"x-api-key": KEY})
    assert await status(authorizer, key, "web-1", "read") == 200
    assert await status(authorizer, key, "web-1", "stop") == 403
    assert await status(authorizer, key, "app-1", "read") == 403
    assert await status(authorizer, Credentials({"x-api-key": "x"}), "web-1", "read") == 401
    assert await status(authorizer, Credentials(), "web-1", "read") == 401


async def test_a_ticket_counts_alone(authorizer: TicketAuthorizer) -> None:
    """For its conversation and actions; a good key beside a bad ticket does not help."""
    grant = await authorised(authorizer, Credentials(), "web-1", "read")
    ticket = authorizer.ticket(grant, "web-1", "read")
    assert await status(authorizer, Credentials(ticket=ticket), "web-1", "read") == 200
    assert await status(authorizer, Credentials(ticket=ticket), "web-1", "stop") == 403
    assert await status(authorizer, Credentials(ticket=ticket), "web-2", "read") == 403
    assert await status(authorizer, Credentials({"x-api-key": KEY}, ticket="x"), "web-1", "read") == 401


async def test_what_a_ticket_opened_ends_with_the_rights_behind_it(
    authorizer: TicketAuthorizer, known: Known, clock: Clock
) -> None:
    """Not with the ticket, which would close every stream after a minute."""
    grant = await authorised(authorizer, Credentials(), "web-1", "read")
    opened = await authorised(
        authorizer, Credentials(ticket=authorizer.ticket(grant, "web-1", "read")), "web-1", "read"
    )
    clock.now = 1_499.0
    assert authorizer.holds(opened)
    clock.now = 1_500.0
    assert not authorizer.holds(opened)
    clock.now = 1_499.0
    known.good = False
    assert not authorizer.holds(opened)


async def test_a_ticket_of_rights_that_were_taken_back_opens_nothing(
    authorizer: TicketAuthorizer, known: Known
) -> None:
    """Although it has not expired itself."""
    ticket = authorizer.ticket(known.known, "web-1", "read")
    known.good = False
    assert await status(authorizer, Credentials(ticket=ticket), "web-1", "read") == 401


@pytest.mark.parametrize("expires", [999.0, 1_000.0, float("nan")])
async def test_a_grant_that_has_ended_opens_nothing(authorizer: TicketAuthorizer, known: Known, expires: float) -> None:
    """Whatever a function answers."""
    known.known = msgspec.structs.replace(known.known, expires=expires)
    assert await status(authorizer, Credentials(), "web-1", "read") == 401


async def test_credentials_without_end_are_not_looked_at(authorizer: TicketAuthorizer) -> None:
    """A frame of a WebSocket may be longer than a header."""
    long = "x" * (CREDENTIAL_CHARACTERS + 1)
    for credentials in (Credentials(ticket=long), Credentials({"authorization": f"Bearer {long}"})):
        with pytest.raises(Refused, match="longer than any key") as refused:
            await authorised(authorizer, credentials, "web-1", "read")
        assert refused.value.kind.status == 401


async def test_what_is_fetched_can_be_fetched_beforehand(authorizer: TicketAuthorizer, known: Known) -> None:
    """The first client need not wait."""
    await authorizer.prepare()
    assert known.prepared


async def test_credentials_of_a_request() -> None:
    """Names in lower case; two keys in two headers are none."""
    headers = [("X-Api-Key", "a"), ("X-Api-Key", "b"), ("Authorization", "Bearer c")]
    credentials = credentials_of(make_mocked_request("GET", "/v1?ticket=t.u&ticket=v", headers=headers))
    assert credentials.headers == {"x-api-key": "a, b", "authorization": "Bearer c"}
    assert credentials.ticket == "t.u"
    assert credentials_of(make_mocked_request("GET", "/")).ticket == ""


async def test_the_settings_say_which_rights_there_are(tmp_path: Path) -> None:
    """Tokens are refused where keys count, and so on."""
    jwt_settings = Gateway(auth="jwt", jwt_audience="tokenmill", jwt_secret="x" * 32)
    for settings in (
        Gateway(auth="keys", keys_file=keys_file(tmp_path)),
        jwt_settings,
        Gateway(auth="function", function=f"{__name__}:nobody"),
    ):
        assert await status(make_authorizer(settings), Credentials({"x-api-key": "x"}), "web-1", "read") == 401


async def nobody(_: Credentials) -> Grant | None:
    return None


def test_tokens_need_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence says how to get it."""

    def without(name: str, *_: Any) -> None:
        assert name == "jwt"

    monkeypatch.setattr("tokenmill.gateway.auth.authorizer.find_spec", without)
    with pytest.raises(ConfigError, match=r"pip install 'tokenmill\[auth\]'"):
        make_authorizer(Gateway(auth="jwt", jwt_audience="tokenmill", jwt_secret="x" * 32))
    assert importlib.util.find_spec("jwt") is not None


async def test_tickets_of_gateways_with_one_secret_are_alike(tmp_path: Path) -> None:
    """Whichever of them a client comes back to."""
    settings = Gateway(auth="keys", keys_file=keys_file(tmp_path), ticket_secret="s" * 32, ticket_s=5)
    one, other = make_authorizer(settings), make_authorizer(settings)
    ticket = one.ticket(await one.grant(Credentials({"x-api-key": KEY})), "web-1", "read")
    assert await status(other, Credentials(ticket=ticket), "web-1", "read") == 200
    late = TicketAuthorizer(
        Known(Grant("", ("*",), frozenset({"read"}))), Tickets("s" * 32, 5, lambda: time.time() + 6)
    )
    assert await status(late, Credentials(ticket=ticket), "web-1", "read") == 401
