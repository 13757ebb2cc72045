"""The values that handlers read from a request besides its body: ids in its address, its trace, its entity tags."""

from collections.abc import Mapping

from aiohttp import web
from aiohttp.helpers import ETAG_ANY

from tokenmill.gateway.problems import BAD_REQUEST, Refused
from tokenmill.limits import KEY_BYTES, TRACE_STATE_BYTES
from tokenmill.records import TRACING, Headers


def conversation_id(conversation: str) -> str:
    """Return the conversation's id, if it is valid. Raises `Refused`."""
    return identifier(conversation, "a conversation's id")


def identifier(text: str, what: str) -> str:
    """Return the id, if it is valid; `what` names it in the refusal. Raises `Refused`."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= KEY_BYTES:
        raise Refused(BAD_REQUEST, f"{what} must be UTF-8, not empty, and at most {KEY_BYTES} bytes long")
    return text


def tracing_of(headers: Mapping[str, str]) -> Headers:
    """Return the tracing headers of a request, as its records have them."""
    given = ((name, headers.get(name, "")) for name in TRACING)
    return [(name, text.encode(errors="replace")) for name, text in given if 0 < len(text) <= TRACE_STATE_BYTES]


def has_etag(request: web.BaseRequest, tag: str) -> bool:
    """Whether a client has the answer with this tag, quotes included, by `if-none-match` (RFC 9110, 13.1.2).

    A proxy that compresses makes a tag weak, which makes no difference here.
    """
    return any(each.value in (ETAG_ANY, tag.strip('"')) for each in request.if_none_match or ())
