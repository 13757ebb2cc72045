"""What a record of a streaming protocol carries, and what is made of its fields."""

from typing import Any

import pytest

from tokenmill.codecs.payloads import (
    MODEL_CHARS,
    error_of,
    identity_of,
    index_of,
    list_of,
    model_of,
    object_of,
    payloads,
    read_event,
    text_of,
)
from tokenmill.errors import Undecodable
from tokenmill.limits import KEY_BYTES


@pytest.mark.parametrize(
    "value",
    [
        b'{"a":1}',
        b'\n {"a":1}\n',
        b'data: {"a":1}',
        b'data:{"a":1}\r\n\r\n',
        b': ping\nevent: chunk\nid: 4\nretry: 10\ndata: {"a":1}\n\n',
    ],
)
def test_a_record_is_a_json_object_or_lines_of_sse(value: bytes) -> None:
    """Of the lines only those with data count."""
    assert list(payloads(value)) == [b'{"a":1}']


def test_several_lines_are_read_in_order() -> None:
    """The word that ends a stream is one of them."""
    assert list(payloads(b"data: {}\n\ndata: [DONE]\n\n")) == [b"{}", b"[DONE]"]
    assert list(payloads(b"[DONE]")) == [b"[DONE]"]


@pytest.mark.parametrize("value", [b": ping\n\n", b"\n", b"data:\n\n", b"event: x\n", b""])
def test_lines_without_data_carry_nothing(value: bytes) -> None:
    """Servers send comments so that a connection stays open."""
    assert list(payloads(value)) == []


@pytest.mark.parametrize("value", [b"oops", b"<html>", b"data: {}\noops", b"\xff"])
def test_other_lines_are_junk(value: bytes) -> None:
    """The record is no stream at all."""
    with pytest.raises(Undecodable):
        list(payloads(value))


@pytest.mark.parametrize("data", [b"{}", b'{"type":1}', b"[]", b"{"])
def test_an_event_has_a_type(data: bytes) -> None:
    """Or it is none."""
    assert read_event(b'{"type":"x","a":1}', "an event") == {"type": "x", "a": 1}
    with pytest.raises(Undecodable, match="not an event"):
        read_event(data, "an event")


@pytest.mark.parametrize("value", [None, 1, True, -1, 2**40, 1.5, "x", [1], {"a": 1}])
def test_fields_of_another_type_are_none(value: Any) -> None:
    """A provider's object may have anything in any place."""
    assert text_of(value) == (value if isinstance(value, str) else "")
    assert object_of(value) == (value if isinstance(value, dict) else {})
    assert list_of(value) == (value if isinstance(value, list) else [])
    assert index_of(value) == (1 if type(value) is int and value == 1 else 0)
    assert identity_of(value) == (model_of(value) or "") == text_of(value)


def test_names_are_bounded() -> None:
    """An id that is too long is refused, a model's name is cut."""
    assert identity_of("x" * KEY_BYTES) == "x" * KEY_BYTES
    with pytest.raises(Undecodable):
        identity_of("é" * KEY_BYTES)
    assert model_of("x" * 1000) == "x" * MODEL_CHARS


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ({"type": "a", "message": "b"}, "a: b"),
        ({"status": "c", "code": 1}, "c"),
        ({"code": 1}, "{'code': 1}"),
        ("x", "x"),
    ],
)
def test_what_an_error_says(error: Any, said: str) -> None:
    """Its kind and its message, or all of it."""
    assert error_of(error) == said
