"""The files of the page, and what a browser may do with them."""

from importlib.resources import files

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tests.support.policy import directives
from tokenmill.inspector.page import ASSETS, INDEX, REPLAY, TYPES, Page, assets

PAGE_BYTES = 100 * 1024
"""All files together, as they are served; the saved page is made of them."""

PROTECTING = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
"""Headers beside the policy."""


def app() -> web.Application:
    """The files alone."""
    made = web.Application()
    made.add_routes(Page().routes())
    return made


def test_every_file_of_the_folder_is_served_and_no_other() -> None:
    """One that is forgotten in the list would be missed by the page."""
    folder = files("tokenmill.inspector") / "assets"
    assert sorted(ASSETS) == sorted(entry.name for entry in folder.iterdir())


def test_the_page_is_small() -> None:
    """Of whoever opens it."""
    assert sum(len(asset.body) for name, asset in assets().items() if name != REPLAY) <= PAGE_BYTES


def test_nothing_in_the_page_s_text_runs_or_is_styled() -> None:
    """The policy would refuse it; nor does a file load anything from elsewhere."""
    text = assets()[INDEX].body.decode()
    assert "<script>" not in text
    assert "style=" not in text
    for asset in assets().values():
        assert b"https://" not in asset.body.replace(b"http://www.w3.org/", b"")
        assert b"innerHTML" not in asset.body


@pytest.mark.parametrize("name", ["", *ASSETS])
async def test_a_file_comes_with_its_policy(name: str) -> None:
    """And is asked for again only if it has changed, also through a proxy that compresses it."""
    async with TestClient(TestServer(app())) as client:
        async with client.get(f"/inspect/{name}") as answer:
            body = await answer.read()
        async with client.get(f"/inspect/{name}", headers={"if-none-match": f"W/{answer.headers['etag']}"}) as again:
            assert (again.status, await again.read()) == (304, b"")
    assert body == assets()[name or INDEX].body
    assert answer.content_type == TYPES[(name or INDEX).rpartition(".")[2]]
    assert {name: answer.headers[name] for name in PROTECTING} == PROTECTING
    assert directives(answer.headers["content-security-policy"]) == {
        "default-src": {"'none'"},
        "script-src": {"'self'"},
        "style-src": {"'self'"},
        "connect-src": {"'self'"},
        "img-src": {"'self'", "data:"},
        "base-uri": {"'none'"},
        "form-action": {"'none'"},
        "frame-ancestors": {"'none'"},
        "require-trusted-types-for": {"'script'"},
        "trusted-types": {"worker"},
    }


@pytest.mark.parametrize("name", ["page.py", "..%2fpage.py", "none.js"])
async def test_nothing_else_is_served(name: str) -> None:
    """A name never becomes a path."""
    async with TestClient(TestServer(app())) as client, client.get(f"/inspect/{name}") as answer:
        assert answer.status == 404


async def test_the_address_without_a_slash_leads_to_the_page() -> None:
    """Names of files are beside it."""
    async with (
        TestClient(TestServer(app())) as client,
        client.get("/inspect", allow_redirects=False) as answer,
    ):
        assert (answer.status, answer.headers["location"]) == (308, "/inspect/")
