"""Whether a client has an answer already, by the tags that it says it has (RFC 9110, 13.1.2)."""

from aiohttp import web
from aiohttp.helpers import ETAG_ANY


def has_it(request: web.BaseRequest, tag: str) -> bool:
    """Whether this is one of them, quotes included. A proxy that compresses makes it weak, which says nothing here."""
    return any(each.value in (ETAG_ANY, tag.strip('"')) for each in request.if_none_match or ())
