"""Reading text as it comes."""

import os
from io import BytesIO

import pytest

from tokenmill.commands.reading import lines_of, pieces_of


@pytest.mark.parametrize(
    ("chars", "pieces"), [(1, ["ä", "b", "😀"]), (2, ["äb", "😀"]), (9, ["äb😀"]), (None, ["äb😀"])]
)
def test_text_is_cut_into_characters(chars: int | None, pieces: list[str]) -> None:
    """Never inside one."""
    assert list(pieces_of(BytesIO("äb😀".encode()), chars)) == pieces


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    """Also at the end, where a character may be cut off."""
    assert "".join(pieces_of(BytesIO(b"a\xffb\xc3"), 1)) == "a\ufffdb\ufffd"


def test_a_pipe_is_read_as_it_fills() -> None:
    """What a writer has sent is there before it has sent everything."""
    reading, writing = os.pipe()
    with open(reading, "rb") as file, open(writing, "wb", buffering=0) as pipe:  # noqa: PTH123 -- no path: descriptors
        pieces = pieces_of(file, None)
        pipe.write(b"one")
        assert next(pieces) == "one"
        pipe.write(b"two")
        assert next(pieces) == "two"


def test_blank_lines_are_left_out() -> None:
    """Line ends stay: they belong to the record."""
    assert list(lines_of(BytesIO(b"a\n\n \nb"))) == [b"a\n", b"b"]
