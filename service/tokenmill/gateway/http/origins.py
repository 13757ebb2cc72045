"""The pages that may talk to the gateway: checks where browsers say that a request comes from, and answers preflights.

1. Pages of the gateway's own origin may; others if `gateway.origins` lists them, by exact comparison. A listed origin
   may send cookies; `*` lets all pages in, without. No origin is sent back because it was sent.
2. Browsers let any page open WebSockets and send plain posts, with the user's cookies, whatever CORS says. So these are
   refused before a handler sees them, unless the page may talk to us. Programs other than browsers send no origin.
3. Without `auth` any client that reaches the port may do everything, and a name server can lead a browser's page here
   under its own name (DNS rebinding). So the name that was asked for has to be one of this machine, or of a listed
   origin. What other pages load, as an image, is refused too: they can't read it, but it would make work. Their links
   are followed.
4. Pages send what their SDK does, which is more with each version: a listed one whatever it asks for. One that only `*`
   lets in has the headers that are known and those of SDKs, but none with which a proxy identifies a user.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from aiohttp import hdrs, web

from tokenmill.config import Gateway
from tokenmill.config.gateway_relations import is_loopback
from tokenmill.gateway.problems import FOREIGN_ORIGIN, MISDIRECTED, Refused, shown

ANY: Final = "*"

METHODS: Final = "GET, POST, DELETE, OPTIONS"
REQUEST_HEADERS: Final = (
    "authorization, content-type, if-none-match, last-event-id, idempotency-key, x-api-key, user-agent, "
    "producer-id, producer-epoch, producer-seq, tm-open, tm-resumable, x-conversation-id, traceparent, tracestate"
)
SDKS: Final = ("x-stainless-", "openai-", "anthropic-")
"""Prefixes of further headers that SDKs send. None of these headers identifies a user."""
RESPONSE_HEADERS: Final = (
    "stream-next-offset, stream-up-to-date, stream-closed, stream-cursor, tm-gap, etag, x-request-id, "
    "x-conversation-id, tm-message-id, request-id, x-should-retry, x-vercel-ai-ui-message-stream, retry-after, "
    "producer-epoch, producer-seq, producer-expected-seq, producer-received-seq"
)

MAX_AGE_S: Final = 600
"""Seconds that browsers remember a preflight's answer; origins removed from the settings may send requests for as
long."""

ASKED: Final = 64
"""Headers that a preflight may ask for: an SDK has twenty."""

_NAMES: Final = re.compile(r"[a-z0-9_-]{1,64}(?:, ?[a-z0-9_-]{1,64})*")
"""Names of headers as browsers ask for them: in lower case, and never `*`."""

_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_OTHERS: Final = frozenset({"cross-site", "same-site"})
"""What browsers say of pages that are not the gateway's own; to them, another port of this machine is the same site."""


class Origins:
    """The pages that `gateway.origins` names; without `others` they may not, but their hosts are names of this one."""

    def __init__(self, gateway: Gateway, *, others: bool = True) -> None:
        self._others = others
        self._listed = frozenset(_as_sent(origin) for origin in gateway.origins) if others else frozenset()
        self._any = ANY in self._listed
        self._names = frozenset(urlsplit(origin).hostname for origin in gateway.origins)
        self._open = gateway.auth == "none" and not self._any
        """Whether any client that reaches the port may do everything, though not every page may."""

    def allowed(self, origin: str) -> bool:
        """Whether pages of this origin, as browsers send it, may read answers."""
        return self._any or origin in self._listed

    def check(self, request: web.Request) -> None:
        """Raise `Refused` for requests of foreign pages."""
        self._check_name(request)
        self._check_page(request)

    def preflight(self, request: web.Request) -> web.Response:
        """Answer a browser's preflight. The page was checked before."""
        headers = {
            "access-control-allow-methods": METHODS,
            "access-control-allow-headers": self._may_send(request),
            "access-control-max-age": str(MAX_AGE_S),
        }
        return web.Response(status=204, headers=headers)

    def _may_send(self, request: web.Request) -> str:
        """Return the headers that a page may send: the known ones, and others that it asks for."""
        known, listed = REQUEST_HEADERS.split(", "), _origin(request) in self._listed
        others = [name for name in _asked_for(request) if listed or name.startswith(SDKS)]
        return ", ".join(dict.fromkeys([*known, *others]))

    def _check_name(self, request: web.Request) -> None:
        """Raise `Refused` if the request asks for a host that is not this one."""
        host = request.headers.get("host", "")
        if not self._open or not host:
            return
        name = _name(host)
        if not (is_loopback(name) or name.endswith(".localhost") or name in self._names):
            raise Refused(
                MISDIRECTED,
                f"without gateway.auth this server answers only at names of this machine, not at {shown(name)}; "
                "use 127.0.0.1, or list an origin with that name in gateway.origins",
            )

    def _check_page(self, request: web.Request) -> None:
        """Raise `Refused` if a page that may not talk to us opens a WebSocket, changes something, or makes us work."""
        origin = _origin(request)
        if origin is None:
            self._check_load(request)
        elif not (self.allowed(origin) or _is_own(request, origin)):
            safe = request.method in _SAFE and "upgrade" not in request.headers and not asks(request)
            if self._open or not safe:
                why = (
                    "gateway.origins does not list"
                    if self._others
                    else "only pages of this address have access, and none of"
                )
                raise Refused(FOREIGN_ORIGIN, f"{why} {shown(origin)}")

    def _check_load(self, request: web.Request) -> None:
        """Raise `Refused` for something that a page loads without its origin, as an image; a link may be followed."""
        said = [request.headers.get(f"sec-fetch-{name}", "") for name in ("site", "mode", "dest")]
        if self._open and said[0] in _OTHERS and said[1:] != ["navigate", "document"]:
            raise Refused(
                FOREIGN_ORIGIN,
                "without gateway.auth no other page can load this; a page that gateway.origins lists can fetch it",
            )

    async def mark(self, request: web.Request, response: web.StreamResponse) -> None:
        """Set the headers of every answer, streams included."""
        headers = response.headers
        if self._any:
            headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = ANY
        else:
            headers[hdrs.VARY] = ", ".join([*headers.getall(hdrs.VARY, []), "Origin"])
            origin = _origin(request)
            if origin not in self._listed:
                return
            headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = origin
            headers[hdrs.ACCESS_CONTROL_ALLOW_CREDENTIALS] = "true"
        headers[hdrs.ACCESS_CONTROL_EXPOSE_HEADERS] = RESPONSE_HEADERS


def _origin(request: web.Request) -> str | None:
    """Return the page's origin; several are joined, and so match no listed one."""
    sent = request.headers.getall("origin", [])
    return ", ".join(sent) if sent else None


def asks(request: web.Request) -> bool:
    """Whether the request is a preflight, which a browser sends before the request of a page."""
    return request.method == "OPTIONS" and "access-control-request-method" in request.headers


def _asked_for(request: web.Request) -> list[str]:
    """Return the headers that a preflight asks for; none if that is not a list of names, or too long."""
    text = ",".join(request.headers.getall("access-control-request-headers", []))
    names = text.replace(" ", "").split(",")
    return names if len(names) <= ASKED and _NAMES.fullmatch(text) else []


def _is_own(request: web.Request, origin: str) -> bool:
    """Whether it is the gateway's own page: the browser says so (no script can), or asked for the host it came from.

    A proxy in front may end TLS, so the scheme is only compared where TLS ends here. One that renames the host makes
    its own pages foreign where browsers do not say more, as Chromium with a WebSocket: such origins have to be listed.
    """
    if request.headers.get("sec-fetch-site") == "same-origin":
        return True
    scheme, _, host = origin.partition("://")
    return host == request.headers.get("host") and (scheme == "https" or not request.secure)


def _as_sent(origin: str) -> str:
    """Return an origin of the settings as browsers write it: in lower case, without the scheme's default port."""
    written = origin.lower()
    return written.removesuffix(_DEFAULT_PORTS.get(urlsplit(written).scheme, ""))


def _name(host: str) -> str:
    """Return the name in a `Host` header, without port and brackets."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
