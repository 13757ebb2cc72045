"""Reading text as it comes."""

import os
from io import BytesIO
from pathlib import Path

import pytest

from tests.support.terminals import OnTerminal
from tokenmill.commands.reading import lines_of, pieces_of, reading_bar


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


def test_a_long_file_has_a_bar_where_its_output_goes_elsewhere(tmp_path: Path) -> None:
    """How much of it has been read, of its size; it is gone in the end. The output is the same."""
    text = tmp_path / "text.txt"
    text.write_bytes(b"word " * 200_000)
    written = tmp_path / "events.jsonl"
    arguments = ["parse", "--chunk", "4", str(text)]
    with written.open("wb") as stdout, OnTerminal(*arguments, stdout=stdout) as terminal:
        assert terminal.end() == 0
    assert b"text.txt" in terminal.drawn
    assert b"/1.0 MB" in terminal.drawn
    assert terminal.drawn.endswith(b"\x1b[1A\x1b[2K")
    assert written.read_bytes().count(b'"type":"text-delta"') == 250_000


def test_what_has_no_size_has_no_bar() -> None:
    """Pipes, and what is no file of the system at all."""
    reading, writing = os.pipe()
    os.close(writing)
    with open(reading, "rb") as file, reading_bar(file), reading_bar(BytesIO(b"a")):  # noqa: PTH123 -- no path: a pipe
        assert file.read() == b""
