"""Errors, each in the object of the API that the client speaks; the words of the model's server stay."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tokenmill.apis.api import Api
from tokenmill.apis.ask import Json
from tokenmill.dialects.json_text import json_bytes

MESSAGE_CHARS = 4000
"""Characters of the model server's message, at most."""

_FAILURES = 500
"""Statuses from here on are not the request's fault."""

OPENAI_TYPES: Mapping[int, str] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    429: "rate_limit_error",
    504: "timeout_error",
}
"""Types by status; others are `invalid_request_error`, and `server_error` from 500 on."""

ANTHROPIC_TYPES: Mapping[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""Types by status; others are `invalid_request_error`, and `api_error` from 500 on."""


class _Upstream(msgspec.Struct, frozen=True):
    """The known parts of an upstream's error."""

    message: str = ""
    type: str = ""
    param: str = ""
    code: str = ""


def error_body(
    api: Api, status: int, message: str, *, param: str = "", code: str = "", kind: str = "", request_id: str = ""
) -> bytes:
    """Return the body of an error; `kind` is its type, where it differs from that of the status.

    Anthropic's object has no place for `param` and `code`: they stand beside its message, like its other members.
    """
    anthropic = api.name == "messages"
    error: Json = {"type": kind or _type_of(status, anthropic=anthropic), "message": message}
    if anthropic:
        further = {name: text for name, text in (("param", param), ("code", code)) if text}
        return json_bytes({"type": "error", "error": error | further, "request_id": request_id or None})
    return json_bytes({"error": error | {"param": param or None, "code": code or None}})


def upstream_error(api: Api, status: int, raw: str, message: str, request_id: str = "") -> bytes:
    """Return the error of a model's server. Its body `raw` is OpenAI's, Anthropic's, or anything.

    `message` stands in for a missing one. The error's type is kept; in Anthropic's API only if that has it, too.
    `raw` may be cut off.
    """
    node = _read(raw)
    anthropic = api.name == "messages"
    kind = node.type if not anthropic or node.type in _GENERAL or node.type in ANTHROPIC_TYPES.values() else ""
    text = (node.message or message)[:MESSAGE_CHARS]
    return error_body(api, status, text, param=node.param, code=node.code, kind=kind, request_id=request_id)


_GENERAL = frozenset({"invalid_request_error", "api_error"})


def _type_of(status: int, *, anthropic: bool) -> str:
    failed = status >= _FAILURES
    if anthropic:
        return ANTHROPIC_TYPES.get(status) or ("api_error" if failed else "invalid_request_error")
    return OPENAI_TYPES.get(status) or ("server_error" if failed else "invalid_request_error")


def _read(raw: str) -> _Upstream:
    """Return an error's own fields: under `error`, as most have it, or beside it, as vLLM once did."""
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _Upstream()
    if not isinstance(body, dict):
        return _Upstream()
    error = body.get("error", body)
    if isinstance(error, str):
        return _Upstream(error)
    if not isinstance(error, dict):
        return _Upstream()
    message = error.get("message") or error.get("detail")
    return _Upstream(_word(message), *(_word(error.get(name)) for name in ("type", "param", "code")))


def _word(value: Any) -> str:
    """Return a text, or a number as text: some servers use their status as a code."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 2**53 else ""
    return value[:MESSAGE_CHARS] if isinstance(value, str) else ""
