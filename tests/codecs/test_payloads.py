"""What a record of a streaming protocol carries."""

from typing import Any

import msgspec
import pytest

from tokenmill.codecs import find_codec
from tokenmill.codecs.payloads import (
    error_of,
    identity_of,
    index_of,
    list_of,
    model_of,
    object_of,
    payloads,
    read_event,
    shown,
    status_of,
    text_of,
)
from tokenmill.errors import Undecodable
from tokenmill.limits import KEY_BYTES, MODEL_CHARS
from tokenmill.records import InputRecord


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'{"a":1}', [b'{"a":1}']),
        (b"  [1]\n", [b"[1]"]),
        (b'data: {"a":1}\n\ndata:{"b":2}\r\n\r\n', [b'{"a":1}', b'{"b":2}']),
        (b': hi\nevent: e\nid: 1\nretry: 5\ndata: {"a":1}\n', [b'{"a":1}']),
        (b"data:\n\n", []),
        (b"", []),
        (b"[DONE]", [b"[DONE]"]),
    ],
)
def test_a_record_is_json_or_lines_of_sse(value: bytes, expected: list[bytes]) -> None:
    """Of the lines those with data count."""
    assert list(payloads(value)) == expected


def test_other_lines_are_refused() -> None:
    """The refusal shows the beginning."""
    with pytest.raises(Undecodable, match="<html>"):
        list(payloads(b"data: {}\n<html>"))


@pytest.mark.parametrize("data", [b"{", b"{}", b'{"type":1}', b"[]"])
def test_an_event_has_a_type(data: bytes) -> None:
    """The refusal names what it should be."""
    with pytest.raises(Undecodable, match="an event of theirs"):
        read_event(data, "an event of theirs")


@pytest.mark.parametrize("odd", [None, 1, 1.5, True, "x", [1], {"a": 1}])
def test_fields_of_other_types_are_as_good_as_none(odd: Any) -> None:
    """Proxies write null, or what they like."""
    assert text_of(odd) == (odd if isinstance(odd, str) else "")
    assert object_of(odd) == (odd if isinstance(odd, dict) else {})
    assert list_of(odd) == (odd if isinstance(odd, list) else [])
    assert index_of(odd) == (1 if odd is not True and odd == 1 else 0)
    assert model_of(odd) == (odd if isinstance(odd, str) else None)


def test_ids_and_names_have_an_end() -> None:
    """An id is refused, as it would be another's if it were cut; a name is cut."""
    assert identity_of("é" * (KEY_BYTES // 2)) == "é" * (KEY_BYTES // 2)
    with pytest.raises(Undecodable, match="id is longer"):
        identity_of("é" * KEY_BYTES)
    assert model_of("m" * 1000) == "m" * MODEL_CHARS


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded_error: Overloaded"),
        ({"status": "UNAVAILABLE", "message": "busy", "code": 503}, "UNAVAILABLE: busy"),
        ({"code": 7}, "{'code': 7}"),
        ("gone", "gone"),
    ],
)
def test_an_error_is_said_in_the_providers_words(error: Any, said: str) -> None:
    """Whatever its shape."""
    assert error_of(error) == said


@pytest.mark.parametrize("deep", ["[" * 200 + "]" * 200, '{"a":' * 200 + "1" + "}" * 200], ids=["list", "object"])
def test_an_error_that_cannot_be_shown_says_why(deep: str) -> None:
    """It ends its message all the same."""
    assert "nested more than" in error_of(msgspec.json.decode(deep))
    assert "more than 64 bits" in shown({"code": 2**64})


@pytest.mark.parametrize(
    ("codec", "event"),
    [
        ("anthropic", b'{"type":"error","error":%b}'),
        ("gemini", b'{"error":%b}'),
        ("gemini", b'[{"error":%b}]'),
        ("llama_cpp", b'{"error":%b}'),
        ("ollama", b'{"error":%b}'),
        ("openai", b'{"error":%b}'),
        ("openai_responses", b'{"type":"error","message":%b}'),
        ("qwen_sse", b'data: {"error":%b}\n\n'),
    ],
)
def test_an_error_of_any_depth_stops_nothing(codec: str, event: bytes) -> None:
    """Where the reader of JSON still reads it and where it does not, to the last level."""
    decode, said = find_codec(codec).decode, []
    for depth in (2, 200, *range(800, 1_010)):
        record = InputRecord("tokens", 0, 0, 0, b"c", event % (b"[" * depth + b"]" * depth))
        try:
            _, chunks = decode(b"", record)
        except Undecodable:
            continue
        said.append(any(chunk.error is not None for chunk in chunks))
    assert said[:2] == [True, True]


@pytest.mark.parametrize(
    ("code", "status"),
    [(400, 400), ("599", 599), (399, None), (600, None), ("0400", None), (True, None), (400.0, None), ("x", None)],
)
def test_a_status_is_that_of_a_refusal_or_a_failure(code: Any, status: int | None) -> None:
    """As a number or as its three digits; else the code is a word or a number of the server's own."""
    assert status_of(code) == status
