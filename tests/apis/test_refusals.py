"""Errors in the object of each API."""

import json
from typing import Any

import httpx2
import msgspec
import pytest
from anthropic import Anthropic
from anthropic.types import ErrorResponse
from openai import OpenAI

from tokenmill.apis import CHAT, MESSAGES, RESPONSES
from tokenmill.apis.refusals import MESSAGE_CHARS, error_body, upstream_error

OPENAI_SAYS = '{"error":{"message":"m","type":"invalid_request_error","param":"p","code":"c"}}'
ANTHROPIC_SAYS = '{"type":"error","error":{"type":"overloaded_error","message":"m"}}'


def error(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)["error"]
    return found


@pytest.mark.parametrize("api", [CHAT, RESPONSES])
def test_openais_object(api: Any) -> None:
    """The type goes by the status, and may be another."""
    assert json.loads(error_body(api, 400, "m", param="n", code="c")) == {
        "error": {"type": "invalid_request_error", "message": "m", "param": "n", "code": "c"}
    }
    assert error(error_body(api, 404, "m")) == {"type": "not_found_error", "message": "m", "param": None, "code": None}
    assert error(error_body(api, 500, "m", kind="k"))["type"] == "k"


@pytest.mark.parametrize(
    ("status", "openai", "anthropic"),
    [
        (400, "invalid_request_error", "invalid_request_error"),
        (401, "authentication_error", "authentication_error"),
        (403, "permission_error", "permission_error"),
        (404, "not_found_error", "not_found_error"),
        (409, "conflict_error", "invalid_request_error"),
        (413, "invalid_request_error", "request_too_large"),
        (422, "invalid_request_error", "invalid_request_error"),
        (429, "rate_limit_error", "rate_limit_error"),
        (500, "server_error", "api_error"),
        (502, "server_error", "api_error"),
        (504, "timeout_error", "timeout_error"),
        (529, "server_error", "overloaded_error"),
    ],
)
def test_types_go_by_the_status(status: int, openai: str, anthropic: str) -> None:
    """Each API has its own words."""
    assert error(error_body(CHAT, status, "m"))["type"] == openai
    assert error(error_body(MESSAGES, status, "m"))["type"] == anthropic


def test_anthropics_object() -> None:
    """Its models take it."""
    body = error_body(MESSAGES, 400, "m", param="n")
    assert json.loads(body) == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "m", "param": "n"},
        "request_id": None,
    }
    assert json.loads(error_body(MESSAGES, 400, "m", request_id="r"))["request_id"] == "r"
    for status in (400, 401, 402, 403, 404, 429, 500, 504, 529):
        ErrorResponse.model_validate_json(error_body(MESSAGES, status, "m"))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (OPENAI_SAYS, ("m", "invalid_request_error", "p", "c")),
        (ANTHROPIC_SAYS, ("m", "overloaded_error", None, None)),
        (
            '{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}',
            ("m", "BadRequestError", None, "400"),
        ),
        ('{"error":"m"}', ("m", "rate_limit_error", None, None)),
        ('{"detail":"m"}', ("m", "rate_limit_error", None, None)),
        ('{"error":{"message":3,"code":true}}', ("3", "rate_limit_error", None, None)),
        ('{"error":[1]}', ("own", "rate_limit_error", None, None)),
        ("[]", ("own", "rate_limit_error", None, None)),
        ("", ("own", "rate_limit_error", None, None)),
        ("<html>", ("own", "rate_limit_error", None, None)),
        ("[" * 100_000, ("own", "rate_limit_error", None, None)),
        ("\ud800", ("own", "rate_limit_error", None, None)),
    ],
)
def test_what_a_server_said_stays(raw: str, expected: tuple[Any, ...]) -> None:
    """As far as it can be read."""
    told = error(upstream_error(CHAT, 429, raw, "own"))
    assert (told["message"], told["type"], told["param"], told["code"]) == expected


def test_words_that_anthropic_has_not_are_not_said_in_its_api() -> None:
    """The status says what kind it is."""
    told = [error(upstream_error(MESSAGES, 400, raw, "own")) for raw in (OPENAI_SAYS, ANTHROPIC_SAYS, '{"type":"X"}')]
    assert [each["type"] for each in told] == ["invalid_request_error", "overloaded_error", "invalid_request_error"]
    assert (told[0]["param"], told[0]["code"]) == ("p", "c")
    assert error(upstream_error(MESSAGES, 404, OPENAI_SAYS, "own"))["type"] == "invalid_request_error"


def test_what_a_server_said_is_bounded() -> None:
    """A page of HTML in JSON is none to show."""
    told = error(upstream_error(CHAT, 500, json.dumps({"error": "x" * 10_000}), "own"))
    assert len(told["message"]) == MESSAGE_CHARS


def test_half_a_surrogate_pair_can_be_told() -> None:
    """As a client may have sent it."""
    assert error(error_body(CHAT, 400, "\ud800"))["message"] == "\ud800"
    assert msgspec.json.decode(error_body(MESSAGES, 400, "é"))["error"]["message"] == "é"


def test_the_sdks_read_them() -> None:
    """What they raise has the message, the place and the code."""
    response = httpx2.Response(400, request=httpx2.Request("POST", "http://127.0.0.1"))
    body = json.loads(error_body(CHAT, 400, "m", param="n", code="c"))
    openai = OpenAI(api_key="x")._make_status_error("m", body=body, response=response)
    assert (openai.param, openai.code, openai.type) == ("n", "c", "invalid_request_error")
    body = json.loads(error_body(MESSAGES, 400, "m"))
    anthropic = Anthropic(api_key="x")._make_status_error("m", body=body, response=response)
    assert anthropic.type == "invalid_request_error"
