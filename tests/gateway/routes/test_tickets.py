"""A ticket is asked for with credentials, and opens what it is for without them."""

import asyncio

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tests.support.stage import until
from tokenmill.config import Gateway
from tokenmill.gateway.auth.admission import Admission
from tokenmill.gateway.auth.authorizer import Credentials, TicketAuthorizer, authorised, make_authorizer
from tokenmill.gateway.auth.connection_limits import ConnectionLimits
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.http.app import client_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins
from tokenmill.gateway.routes.tickets import TicketRoutes


def app(
    authorizer: TicketAuthorizer, limits: ConnectionLimits | None = None, reader_limits: ConnectionLimits | None = None
) -> web.Application:
    """The route alone."""
    admission = Admission(authorizer, reader_limits or ConnectionLimits(100, 100))
    posts = TicketRoutes(authorizer, admission, 60, limits or ConnectionLimits(100, 100))
    return client_app(posts.routes(), Counts(), Origins(Gateway()), IdleConnections(), 1_000)


async def test_a_ticket_is_good_for_what_was_asked() -> None:
    """And is kept by no cache."""
    authorizer = make_authorizer(Gateway())
    async with TestClient(TestServer(app(authorizer))) as client:
        async with client.post("/v1/conversations/c%2F1/ticket", json={"actions": ["read", "stop"]}) as answer:
            made = await answer.json()
            assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
        async with client.post("/v1/conversations/c/ticket") as answer:
            for_reading = (await answer.json())["ticket"]
    assert made["expires_in"] == 60
    grant = await authorised(authorizer, Credentials(ticket=made["ticket"]), "c/1", "stop")
    assert not grant.allows("c", "read")
    assert not (await authorised(authorizer, Credentials(ticket=for_reading), "c", "read")).allows("c", "stop")


@pytest.mark.parametrize(
    "body", [b"[]", b'{"actions": ["write"]}', b"{", b'{"action": []}', b'{"actions": ["\xff"]}', b"[" * 1_000]
)
async def test_a_body_that_asks_for_something_else_is_refused(body: bytes) -> None:
    """With what is expected."""
    async with (
        TestClient(TestServer(app(make_authorizer(Gateway())))) as client,
        client.post("/v1/conversations/c/ticket", data=body) as answer,
    ):
        problem = msgspec.json.decode(await answer.read())
    assert (answer.status, problem["type"]) == (400, "urn:tokenmill:problem:bad-request")
    assert '{"actions": ["read"]}' in problem["detail"]


async def test_a_body_that_comes_has_a_place() -> None:
    """Of its own name, as any connection; it is free again behind it."""
    limits = ConnectionLimits(1, 1)
    async with TestClient(TestServer(app(make_authorizer(Gateway()), limits))) as client:
        _, writer = await asyncio.open_connection("127.0.0.1", client.port)
        writer.write(b"POST /v1/conversations/c/ticket HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 900\r\n\r\n{")
        await until(lambda: limits.taken_now == 1, "the body has a place")
        async with client.post("/v1/conversations/c/ticket") as answer:
            assert answer.status == 429
        writer.close()
        await until(lambda: limits.taken_now == 0, "the place is free")
        async with client.post("/v1/conversations/c/ticket") as answer:
            assert answer.status == 200


async def test_readers_leave_room_for_the_next_ticket() -> None:
    """Else a site whose users read, with the name of its key, could let in nobody else."""
    reader_limits, authorizer = ConnectionLimits(1, 1), make_authorizer(Gateway())
    with reader_limits.taken(await authorizer.grant(Credentials())):
        async with (
            TestClient(TestServer(app(authorizer, reader_limits=reader_limits))) as client,
            client.post("/v1/conversations/c/ticket") as answer,
        ):
            assert answer.status == 200
