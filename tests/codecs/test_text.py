"""Codec `text`."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.codecs import Chunk
from tokenmill.codecs.text import TEXT
from tokenmill.errors import Undecodable
from tokenmill.records import InputRecord


def decode(values: Sequence[bytes | None], headers: list[tuple[str, bytes]] | None = None) -> list[Chunk]:
    """The chunks of records with these values."""
    state, chunks = b"", list[Chunk]()
    for value in values:
        state, more = TEXT.decode(state, InputRecord("tokens", 0, 0, 0, b"c", value, headers or []))
        chunks.extend(more)
    return chunks


@given(st.text(), st.lists(st.integers(0, 40)))
def test_a_cut_anywhere_changes_nothing(text: str, cuts: list[int]) -> None:
    """P2: even inside a character."""
    data = text.encode(errors="replace")
    places = sorted({0, *(cut % (len(data) + 1) for cut in cuts), len(data)})
    pieces = [data[start:end] for start, end in pairwise(places)]
    assert "".join(chunk.delta or "" for chunk in decode([piece for piece in pieces if piece])) == data.decode()


@given(st.lists(st.binary(min_size=1)))
def test_any_bytes_become_text(values: list[bytes]) -> None:
    """P7: what is not UTF-8 becomes U+FFFD, as if it had not been cut."""
    chunks = decode([*values, None])
    assert "".join(chunk.delta or "" for chunk in chunks) == b"".join(values).decode(errors="replace")


def test_a_null_value_ends_the_message() -> None:
    """And gives what was left of a character."""
    assert decode([b"a\xe2", None]) == [Chunk(delta="a"), Chunk(delta="\N{REPLACEMENT CHARACTER}", end=True)]


def test_an_empty_value_is_text() -> None:
    """Of no characters: clients pass on what they read, and a read may bring nothing."""
    assert decode([b"", b"a\xc3", b"", b"\xafb", None]) == [
        Chunk(delta="a"),
        Chunk(delta="\N{LATIN SMALL LETTER I WITH DIAERESIS}b"),
        Chunk(delta="", end=True),
    ]


def test_a_header_names_the_message() -> None:
    """Without it the message is the conversation's unnamed one."""
    assert decode([b"a", None], [("tm-message-id", b"m")]) == [
        Chunk(message_id="m", delta="a"),
        Chunk(message_id="m", end=True),
    ]
    assert decode([b"a"]) == [Chunk(delta="a")]


def test_a_name_that_is_not_utf8_is_refused() -> None:
    """It would come back in every output."""
    with pytest.raises(Undecodable):
        decode([b"a"], [("tm-message-id", b"\xff")])


def test_what_is_kept_is_part_of_a_character() -> None:
    """At most three bytes."""
    state, _ = TEXT.decode(b"", InputRecord("tokens", 0, 0, 0, b"c", b"abc\xf0\x9f\x98"))
    assert state == b"\xf0\x9f\x98"
