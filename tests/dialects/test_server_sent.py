"""Payloads as server-sent events; what a gateway adds is tested with its framing."""

import pytest

from tokenmill.dialects import find_dialect
from tokenmill.dialects.server_sent import on_one_line, server_sent


@pytest.mark.parametrize(
    ("dialect", "payload", "event"),
    [
        ("openai", b'{"id":"1"}', b'data: {"id":"1"}\n\n'),
        ("openai", b"[DONE]", b"data: [DONE]\n\n"),
        ("anthropic", b'{"type":"ping"}', b'event: ping\ndata: {"type":"ping"}\n\n'),
        ("anthropic", b'{"id":"1"}', b'data: {"id":"1"}\n\n'),
    ],
)
def test_clients_that_look_for_a_name_find_one(dialect: str, payload: bytes, event: bytes) -> None:
    """It is the payload's type; other dialects' clients want none."""
    assert server_sent(payload, find_dialect(dialect)) == event


@pytest.mark.parametrize("payload", [b'{"a":\n1}', b'{"a":\r1}', b'{"a":\r\n1}'])
def test_a_payload_is_one_line(payload: bytes) -> None:
    """A line break of JSON is a blank: it would begin another field."""
    assert on_one_line(payload).split() == [b'{"a":', b"1}"]
