"""Reading text as it comes."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.support.terminals import OnTerminal
from tokenmill.commands.reading import coming_lines, coming_pieces, lines_of, pieces_of, reading_bar


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


async def test_in_a_loop_a_pipe_is_read_as_it_fills() -> None:
    """Other tasks run while its writer is silent."""
    reading, writing = os.pipe()
    with open(reading, "rb") as file, open(writing, "wb", buffering=0) as pipe:  # noqa: PTH123, ASYNC230 -- descriptors
        pieces = coming_pieces(file, 2)
        waiting = asyncio.ensure_future(anext(pieces))
        await asyncio.sleep(0)
        assert not waiting.done()
        pipe.write("onä".encode()[:-1])
        assert await waiting == "on"
        pipe.write("ä".encode()[-1:])
        assert await anext(pieces) == "ä"


@pytest.mark.parametrize("read", [lambda file: coming_pieces(file, 4), coming_lines])
async def test_who_waits_for_a_silent_pipe_can_be_stopped(read: Callable[[BinaryIO], AsyncIterator[object]]) -> None:
    """No thread is left in it, for which the loop would wait at its end."""
    reading, writing = os.pipe()
    with open(reading, "rb") as file, open(writing, "wb"):  # noqa: PTH123, ASYNC230 -- descriptors
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await anext(read(file))
        assert not asyncio.get_running_loop().remove_reader(file.fileno())


async def test_in_a_loop_files_are_read_to_their_end(tmp_path: Path) -> None:
    """Those of the system, whose blocks end anywhere, and those that are none; empty ones, too."""
    text = tmp_path / "text"
    text.write_bytes(b"a\r\n\n \n" + b"long " * 50_000 + b"\nb\rc")
    for path in (text, Path(os.devnull)):
        whole = path.read_bytes()
        with path.open("rb") as file:
            assert [line async for line in coming_lines(file)] == list(lines_of(BytesIO(whole)))
        assert [line async for line in coming_lines(BytesIO(whole))] == list(lines_of(BytesIO(whole)))
        with path.open("rb") as file:
            assert "".join([piece async for piece in coming_pieces(file, 3)]) == whole.decode()


def test_a_long_file_has_a_bar_where_its_output_goes_elsewhere(tmp_path: Path) -> None:
    """How much of it has been read, of its size; it is gone in the end. The output is the same."""
    text = tmp_path / "text.txt"
    text.write_bytes(b"word " * 100_000)
    written = tmp_path / "events.jsonl"
    arguments = ["parse", "--chunk", "4", str(text)]
    with written.open("wb") as stdout, OnTerminal(*arguments, stdout=stdout) as terminal:
        assert terminal.end() == 0
    assert b"text.txt" in terminal.drawn
    assert b"/500.0 kB" in terminal.drawn
    assert terminal.drawn.endswith(b"\x1b[1A\x1b[2K")
    assert written.read_bytes().count(b'"type":"text-delta"') == 125_000


def test_what_has_no_size_has_no_bar() -> None:
    """Pipes, and what is no file of the system at all."""
    reading, writing = os.pipe()
    os.close(writing)
    with open(reading, "rb") as file, reading_bar(file), reading_bar(BytesIO(b"a")):  # noqa: PTH123 -- no path: a pipe
        assert file.read() == b""
