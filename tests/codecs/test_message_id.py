"""The header that names a record's message."""

import pytest

from tokenmill.codecs.message_id import message_id
from tokenmill.errors import Undecodable
from tokenmill.records import InputRecord


def named(headers: list[tuple[str, bytes]]) -> str | None:
    """The message that a record with these headers names."""
    return message_id(InputRecord("tokens", 0, 0, 0, b"c", b"", headers))


def test_the_last_header_counts() -> None:
    """An empty one and none are the same."""
    assert named([("tm-message-id", b"a"), ("tm-message-id", b"\xc3\xa9")]) == "é"
    assert named([("tm-message-id", b"")]) is None
    assert named([]) is None


def test_what_is_no_text_is_refused() -> None:
    """With the name of the header."""
    with pytest.raises(Undecodable, match="tm-message-id"):
        named([("tm-message-id", b"\xff")])
