"""Refusals of requests: each is an RFC 9457 problem that describes what to change, never a trace.

1. Each kind of refusal is one row; its `type` is `urn:tokenmill:problem:<name>`, which programs may compare.
2. Details quote what the caller sent only shortened and printable, as a log or a page may show them.
"""

from typing import Any

import msgspec
from aiohttp import web

SHOWN = 80
"""Characters of a caller's text that a detail quotes: enough to recognise a name, few enough for a log line."""


class Kind(msgspec.Struct, frozen=True):
    """One kind of refusal."""

    name: str
    status: int
    title: str


BAD_REQUEST = Kind("bad-request", 400, "The request is not valid")
BAD_POSITION = Kind("bad-position", 400, "The position can't be read")
UNKNOWN_DIALECT = Kind("unknown-dialect", 400, "There is no such dialect")
UNKNOWN_CODEC = Kind("unknown-codec", 400, "There is no such codec")
UNAUTHENTICATED = Kind("unauthenticated", 401, "Credentials are missing or not valid")
FOREIGN_ORIGIN = Kind("foreign-origin", 403, "Pages of this origin have no access")
FORBIDDEN = Kind("forbidden", 403, "Not allowed for this conversation")
STALE_PRODUCER = Kind("stale-producer", 403, "A newer epoch of this producer writes")
NOT_FOUND = Kind("not-found", 404, "Not found")
NOT_ALLOWED = Kind("method-not-allowed", 405, "The address does not take this method")
TIMED_OUT = Kind("timed-out", 408, "The body did not come in time")
CONFLICT = Kind("conflict", 409, "The request does not fit what came before")
GONE = Kind("gone", 410, "The log no longer has this position")
TOO_LARGE = Kind("too-large", 413, "The body is too large")
UNSUPPORTED = Kind("unsupported-type", 415, "The type of the body is not supported")
MISDIRECTED = Kind("misdirected", 421, "This server does not have that name")
TOO_MANY = Kind("too-many", 429, "Too many requests or connections")
INTERNAL = Kind("internal", 500, "The gateway failed")
UNAVAILABLE = Kind("unavailable", 503, "Kafka does not answer")
UNVERIFIABLE = Kind("unverifiable", 503, "Credentials can't be checked now")
STOPPING = Kind("stopping", 503, "This gateway is shutting down")

KINDS = (
    BAD_REQUEST,
    BAD_POSITION,
    UNKNOWN_DIALECT,
    UNKNOWN_CODEC,
    UNAUTHENTICATED,
    FOREIGN_ORIGIN,
    FORBIDDEN,
    STALE_PRODUCER,
    NOT_FOUND,
    NOT_ALLOWED,
    TIMED_OUT,
    CONFLICT,
    GONE,
    TOO_LARGE,
    UNSUPPORTED,
    MISDIRECTED,
    TOO_MANY,
    INTERNAL,
    UNAVAILABLE,
    UNVERIFIABLE,
    STOPPING,
)


PASSING = frozenset({429, 503})
"""Statuses after which the same request may be answered soon."""


class Refused(Exception):
    """A request that is answered with a problem; `detail` describes what to change."""

    def __init__(self, kind: Kind, detail: str, *, headers: dict[str, str] | None = None, **members: Any) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.headers = headers or {}
        self.members = members
        """Further members of the problem."""

    def body(self) -> bytes:
        """Return the problem as JSON."""
        kind = self.kind
        members = {"type": f"urn:tokenmill:problem:{kind.name}", "title": kind.title, "status": kind.status}
        return msgspec.json.encode(members | {"detail": self.detail} | self.members)

    def response(self) -> web.Response:
        """Return the whole answer."""
        return web.Response(
            status=self.kind.status, body=self.body(), content_type="application/problem+json", headers=self.headers
        )


def shown(text: str) -> str:
    """Return a caller's text as a detail may show it: quoted, cut, and without control characters."""
    cut = text if len(text) <= SHOWN else text[:SHOWN] + "…"
    return repr("".join(char if char.isprintable() else "�" for char in cut))
