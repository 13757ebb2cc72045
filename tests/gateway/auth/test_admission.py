"""Rights, then a place: `gateway/auth/admission.py`."""

import pytest
from aiohttp.test_utils import make_mocked_request

from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.auth.grant import Authorizer, Credentials, Grant
from tokenmill.gateway.problems import FORBIDDEN, Refused


class Named(Authorizer):
    """Knows one name, until it is taken back."""

    def __init__(self) -> None:
        self.valid = True

    async def grant(self, credentials: Credentials) -> Grant:  # noqa: ARG002 -- everybody is the same
        return Grant("ann", ("c*",), frozenset({"read"}))

    def holds(self, grant: Grant) -> bool:  # noqa: ARG002 -- there is one
        return self.valid


async def test_only_what_is_granted_is_let_in() -> None:
    """The conversation and the action."""
    admission, request = Admission(Named(), ConnectionLimits(1, 1)), make_mocked_request("GET", "/")
    assert (await admission.check(request, "c1", "read")).name == "ann"
    for conversation, action in (("d1", "read"), ("c1", "stop")):
        with pytest.raises(Refused):
            await admission.check(request, conversation, action)  # type: ignore[arg-type] # -- each is an action


async def test_who_may_do_something_is_known_before_it_is_known_where() -> None:
    """Where the body says which conversation it is about: nobody's is read who may not do this anywhere."""
    admission, request = Admission(Named(), ConnectionLimits(1, 1)), make_mocked_request("POST", "/")
    assert (await admission.may(request, "read")).name == "ann"
    with pytest.raises(Refused) as refused:
        await admission.may(request, "stop")
    assert refused.value.kind is FORBIDDEN


async def test_a_place_is_taken_and_given_back() -> None:
    """Whatever ends the connection."""
    limits = ConnectionLimits(10, 1)
    admission = Admission(Named(), limits)
    grant = await admission.check(make_mocked_request("GET", "/"), "c1", "read")
    with admission.slot(grant), pytest.raises(Refused), admission.slot(grant):
        pytest.fail("there was one place")
    assert limits.taken_now == 0


async def test_whether_a_grant_holds_is_asked_anew() -> None:
    """Rights may be taken back while a connection is open."""
    authorizer = Named()
    admission = Admission(authorizer, ConnectionLimits(1, 1))
    grant = await admission.check(make_mocked_request("GET", "/"), "c1", "read")
    held = admission.held(grant)
    assert held()
    authorizer.valid = False
    assert not held()
