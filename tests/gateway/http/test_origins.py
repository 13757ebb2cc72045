"""Which pages may talk to the gateway."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.support.serving_app import serving_app
from tokenmill.config import Gateway
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.http.app import client_app
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.gateway.http.origins import Origins

APP = "https://app.example.com"
EVIL = "https://evil.example.com"

Ask = Callable[..., Awaitable[aiohttp.ClientResponse]]


async def stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"data")
    return response


async def socket(request: web.Request) -> web.StreamResponse:
    response = web.WebSocketResponse()
    await response.prepare(request)
    await response.close()
    return response


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    routes = [web.get("/events", stream), web.post("/stop", stream), web.get("/ws", socket)]
    app = client_app(routes, Counts(), Origins(Gateway(**settings)), IdleConnections(), 1_000)
    async with serving_app(app) as port, aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
        yield session, f"127.0.0.1:{port}"


@pytest.fixture
async def gateway() -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A gateway that lists one origin."""
    async with serving(origins=[APP], auth="keys") as running:
        yield running


Running = tuple[aiohttp.ClientSession, str]

PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}


async def test_a_listed_page_may_read_streams(gateway: Running) -> None:
    """The headers come with the stream's first byte, not with a middleware behind its last."""
    answer = await gateway[0].get("/events", headers={"origin": APP})
    assert answer.headers["access-control-allow-origin"] == APP
    assert answer.headers["access-control-allow-credentials"] == "true"
    exposed = answer.headers["access-control-expose-headers"].split(", ")
    assert {"stream-next-offset", "x-conversation-id", "tm-message-id"} <= {*exposed}
    assert answer.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    "origin",
    [
        EVIL,
        "null",
        "https://app.example.com.evil.example.com",
        "https://app.example.com:8443",
        "http://app.example.com",
        "https://APP.example.com",
        "https://app.example.com/",
        f"{APP}, {EVIL}",
        "",
        "*",
    ],
)
async def test_no_other_page_may_read(gateway: Running, origin: str) -> None:
    """Nothing that resembles a listed origin is one, and no origin is sent back because it was sent."""
    answer = await gateway[0].get("/events", headers={"origin": origin})
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    assert answer.headers["vary"] == "Origin"


async def test_two_origins_are_none(gateway: Running) -> None:
    """Only something between browser and gateway sends two."""
    headers = [("origin", APP), ("origin", EVIL)]
    answer = await gateway[0].post("/stop", headers=headers)
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers


async def test_a_preflight_says_what_may_be_sent(gateway: Running) -> None:
    """All that clients of the gateway send; no handler is asked."""
    answer = await gateway[0].options("/stop", headers={"origin": APP, **PREFLIGHT})
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == APP
    assert answer.headers["access-control-allow-methods"] == "GET, POST, DELETE, OPTIONS"
    for name in ("authorization", "content-type", "last-event-id", "idempotency-key", "x-api-key"):
        assert name in answer.headers["access-control-allow-headers"]
    assert int(answer.headers["access-control-max-age"]) > 0


SDKS = [
    "anthropic-dangerous-direct-browser-access",
    "anthropic-version",
    "idempotency-key",
    "openai-organization",
    "tm-resumable",
    "user-agent",
    "x-api-key",
    "x-conversation-id",
    "x-stainless-arch",
    "x-stainless-retry-count",
]
"""What clients of a front send, those of OpenAI's and Anthropic's SDKs among them. Chromium drops their `user-agent`;
Firefox and Safari ask for it."""


async def may_send(session: aiohttp.ClientSession, origin: str, asked: str) -> list[str]:
    """The headers that a page of an origin may send, where it asks for these."""
    sent = {"access-control-request-method": "POST", "access-control-request-headers": asked, "origin": origin}
    answer = await session.options("/stop", headers=sent)
    assert answer.status == 204
    return answer.headers["access-control-allow-headers"].split(", ")


async def test_a_listed_page_may_send_what_it_asks_for(gateway: Running) -> None:
    """SDKs have headers of their own, and more with each version."""
    allowed = await may_send(gateway[0], APP, ",".join([*SDKS, "x-of-tomorrow"]))
    assert {*SDKS, "x-of-tomorrow", "authorization"} <= {*allowed}
    assert len(allowed) == len({*allowed})


async def test_with_a_star_pages_may_send_what_sdks_do() -> None:
    """Not what a proxy says of who somebody is: a page that nobody has named may be anybody's."""
    async with serving(origins=["*"]) as (session, _):
        allowed = await may_send(session, EVIL, ",".join([*SDKS, "x-forwarded-user"]))
    assert {*SDKS} <= {*allowed}
    assert "x-forwarded-user" not in allowed


@pytest.mark.parametrize("asked", ["", "*", "a b", "x-a;q=1", "x-a,,*", "é", ",".join(["x-a"] * 999), "x" * 999])
async def test_what_is_no_list_of_headers_is_not_sent_back(gateway: Running, asked: str) -> None:
    """Nor one that no client would send."""
    assert await may_send(gateway[0], APP, asked) == await may_send(gateway[0], APP, "authorization")


async def test_the_preflight_of_another_page_is_refused_with_a_reason(gateway: Running) -> None:
    """Which browsers show in their tools."""
    answer = await gateway[0].options("/stop", headers={"origin": EVIL, **PREFLIGHT})
    assert answer.status == 403
    problem = await answer.json(content_type="application/problem+json")
    assert problem["detail"] == f"gateway.origins does not list '{EVIL}'"
    assert "access-control-allow-origin" not in answer.headers


async def test_options_that_are_no_preflight_are_the_routes_business(gateway: Running) -> None:
    """They open no stream."""
    assert (await gateway[0].options("/events", headers={"origin": APP})).status == 405


async def test_with_a_star_all_pages_may_read_without_cookies() -> None:
    """Listed ones, too: there is one rule."""
    async with serving(origins=["*", APP]) as (session, _):
        for origin in (APP, EVIL, "null"):
            answer = await session.get("/events", headers={"origin": origin})
            assert answer.headers["access-control-allow-origin"] == "*"
            assert "access-control-allow-credentials" not in answer.headers
            assert (await session.post("/stop", headers={"origin": origin})).status == 200


async def test_origins_are_compared_as_browsers_write_them() -> None:
    """In lower case, without the port that goes without saying."""
    origins = Origins(Gateway(origins=["https://App.Example.com:443", "http://localhost:5173"]))
    assert origins.allowed(APP)
    assert origins.allowed("http://localhost:5173")
    assert not origins.allowed("https://app.example.com:443")
    assert not origins.allowed("http://localhost")


@pytest.mark.parametrize(
    ("headers", "opens"),
    [
        ({}, True),
        ({"origin": APP}, True),
        ({"origin": EVIL}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://{host}"}, True),
        ({"origin": "https://{host}"}, True),
        ({"origin": "http://{host}0"}, False),
        ({"origin": EVIL, "sec-fetch-site": "same-origin"}, True),
        ({"origin": EVIL, "sec-fetch-site": "cross-site"}, False),
        ({"origin": EVIL, "sec-fetch-site": "same-site"}, False),
    ],
)
async def test_only_pages_that_may_open_a_websocket(gateway: Running, headers: dict[str, str], *, opens: bool) -> None:
    """Browsers ask nobody before they open one. A program sends no origin, and needs a key as everybody.

    Some browsers say themselves that it is their own server's page: that counts behind a proxy that renames the host.
    """
    session, host = gateway
    sent = {name: value.format(host=host) for name, value in headers.items()}
    if opens:
        await (await session.ws_connect("/ws", headers=sent)).close()
    else:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect("/ws", headers=sent)
        assert refused.value.status == 403


@pytest.mark.parametrize("origin", [EVIL, "null"])
async def test_other_pages_change_nothing(gateway: Running, origin: str) -> None:
    """A plain form of any page can post, with the user's cookies."""
    headers = {"origin": origin, "content-type": "text/plain"}
    assert (await gateway[0].post("/stop", headers=headers)).status == 403
    assert (await gateway[0].post("/stop", headers={"origin": APP})).status == 200
    assert (await gateway[0].post("/stop")).status == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8090", 200),
        ("localhost", 200),
        ("chat.localhost:8090", 200),
        ("[::1]:8090", 200),
        ("app.example.com", 200),
        ("evil.example.com:8090", 421),
        ("localhost.evil.example.com", 421),
        ("127.0.0.1.evil.example.com", 421),
        ("[", 421),
    ],
)
async def test_without_auth_only_names_of_this_machine_are_answered(host: str, status: int) -> None:
    """A page can make its own name lead here, and then is of the same origin. Proxies' names are those of origins."""
    async with serving(origins=[APP]) as (session, _):
        assert (await session.get("/events", headers={"host": host})).status == status


CROSS = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}

GETS: list[tuple[dict[str, str], int]] = [
    ({}, 200),  # of a program
    (CROSS, 403),
    (CROSS | {"sec-fetch-site": "same-site"}, 403),  # another port of this machine
    (CROSS | {"sec-fetch-site": "same-origin"}, 200),
    (LINK | {"sec-fetch-site": "none"}, 200),  # of the address bar
    (LINK, 200),
    (LINK | {"sec-fetch-dest": "iframe"}, 403),
    ({"origin": EVIL}, 403),  # of a browser that says no more
    ({"origin": "null"}, 403),
    ({"origin": APP} | CROSS, 200),
    ({"origin": "http://{host}"}, 200),
]


@pytest.mark.parametrize(("headers", "status"), GETS)
async def test_without_auth_pages_of_others_make_nobody_work(headers: dict[str, str], status: int) -> None:
    """An image's address of any page would, although the page can't read what comes. Who follows a link may."""
    async with serving(origins=[APP]) as (session, host):
        sent = {name: value.format(host=host) for name, value in headers.items()}
        async with session.get("/events", headers=sent) as answer:
            assert answer.status == status
            if status == 403:
                assert "gateway.origins" in (await answer.json(content_type="application/problem+json"))["detail"]


@pytest.mark.parametrize("settings", [{"auth": "keys"}, {"origins": ["*"]}])
async def test_elsewhere_they_may_ask(settings: dict[str, Any]) -> None:
    """With auth they have no key; with a star all are let in."""
    async with serving(**settings) as (session, _):
        for headers in (CROSS, {"origin": EVIL}):
            assert (await session.get("/events", headers=headers)).status == 200


async def test_with_auth_names_do_not_matter(gateway: Running) -> None:
    """A page under a name of its own has no key."""
    assert (await gateway[0].get("/events", headers={"host": "any.example.com"})).status == 200


async def test_what_a_page_sends_is_shown_tamed(gateway: Running) -> None:
    """An origin may hold anything that a header may."""
    answer = await gateway[0].post("/stop", headers={"origin": "https://\u202egnirts" + "x" * 500})
    detail = (await answer.json(content_type="application/problem+json"))["detail"]
    assert detail.isprintable()
    assert len(detail) < 200
