"""The files of the page, as they are in the package, and what a browser may do with them.

1. Nothing is loaded from elsewhere, nothing in the page's text runs, and no other page may frame it. The one policy for
   trusted types is that of the page's own worker, which reads answers beside the page.
2. What is served is what `ASSETS` lists: a name of an address never becomes a path.
3. Comments of modules stay here: they are for readers of the source.
"""

import re
from hashlib import sha256
from importlib.resources import files

import msgspec
from aiohttp import web

from tokenmill.gateway.http.request_values import has_etag
from tokenmill.inspector.replay import replay_page

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types worker"
)

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}

INDEX = "index.html"

ASSETS: tuple[str, ...] = (
    INDEX,
    "api.js",
    "asked.js",
    "blocks.js",
    "calls.js",
    "cards.js",
    "case.js",
    "check.js",
    "compare.js",
    "conversation.js",
    "cutbar.js",
    "cuts.js",
    "diagram.js",
    "diff.js",
    "dom.js",
    "events.js",
    "form.js",
    "hidden.js",
    "input.js",
    "joined.js",
    "json.js",
    "layout.js",
    "list.js",
    "listbox.js",
    "live.js",
    "long.js",
    "main.js",
    "play.js",
    "points.js",
    "position.js",
    "replay.js",
    "results.js",
    "rows.js",
    "run.js",
    "save.js",
    "state.js",
    "stepper.js",
    "strip.js",
    "style.css",
    "timing.js",
    "types.js",
    "worker.js",
)
"""All files of the page."""

REPLAY = "replay.html"
"""The live view as one file, which is made of the others."""

COMMENTS = re.compile(r"^[ \t]*(?:/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*|//.*)\n", re.MULTILINE)
"""Those that have their lines for themselves."""


class Asset(msgspec.Struct, frozen=True):
    """A file of the page."""

    body: bytes
    kind: str
    etag: str


def assets() -> dict[str, Asset]:
    """The files of the page by their names."""
    folder = files("tokenmill.inspector") / "assets"
    texts = {name: _said(name, (folder / name).read_text()) for name in ASSETS}
    return {name: _asset(name, text.encode()) for name, text in (texts | {REPLAY: replay_page(texts)}).items()}


def _said(name: str, text: str) -> str:
    return COMMENTS.sub("", text) if name.endswith(".js") else text


def _asset(name: str, body: bytes) -> Asset:
    return Asset(body, TYPES[name.rpartition(".")[2]], f'"{sha256(body).hexdigest()[:16]}"')


class Page:
    """The routes of the files of the page."""

    def __init__(self) -> None:
        self._assets = assets()

    def routes(self) -> list[web.RouteDef]:
        """The routes for the application."""
        return [
            web.get("/inspect", self._home),
            web.get("/inspect/", self._index),
            web.get("/inspect/{name}", self._file),
        ]

    async def _home(self, _request: web.Request) -> web.Response:
        return web.Response(status=308, headers={"location": "/inspect/"})  # names of files are beside it

    async def _index(self, request: web.Request) -> web.Response:
        return _answer(request, self._assets[INDEX])

    async def _file(self, request: web.Request) -> web.Response:
        asset = self._assets.get(request.match_info["name"])
        if asset is None:
            raise web.HTTPNotFound
        return _answer(request, asset)


def _answer(request: web.Request, asset: Asset) -> web.Response:
    headers = {**HEADERS, "etag": asset.etag}
    if has_etag(request, asset.etag):
        return web.Response(status=304, headers=headers)
    return web.Response(body=asset.body, content_type=asset.kind, charset="utf-8", headers=headers)
