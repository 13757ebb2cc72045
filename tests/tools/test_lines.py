"""Lines of a program's output, however they come."""

from hypothesis import given
from hypothesis import strategies as st

from tokenmill.tools.lines import HEAD, Line, LineReader

LONGEST = 1_000


def read(reader: LineReader, *pieces: bytes) -> list[Line]:
    return [line for piece in pieces for line in reader.feed(piece)]


@given(data=st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b" "))), size=st.integers(1, 7))
def test_lines_are_the_same_however_they_come(data: list[bytes], size: int) -> None:
    """Each once, without its end."""
    whole = b"".join(line + b"\n" for line in data)
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert read(LineReader(LONGEST), *pieces) == [Line(line) for line in data]


def test_of_a_line_that_is_too_long_its_ends_are_kept() -> None:
    """The next one is whole again, and nothing of the long one is held meanwhile."""
    reader = LineReader(LONGEST)
    piece = b"m" * 300
    assert read(reader, b"begin" + piece, *[piece] * 1_000) == []
    assert len(reader._held) <= HEAD
    long, short = read(reader, b"end\nshort\n")
    assert (long.cut, len(long.data)) == (True, 2 * HEAD)
    assert long.data.startswith(b"beginmm")
    assert long.data.endswith(b"mmend")
    assert short == Line(b"short")


def test_a_line_at_the_limit_is_whole() -> None:
    """One byte more is too long, whether it comes in one piece or in two."""
    for pieces in ([b"x" * LONGEST + b"\n"], [b"x" * 400, b"x" * 600 + b"\n"]):
        assert read(LineReader(LONGEST), *pieces) == [Line(b"x" * LONGEST)]
    for pieces in ([b"x" * (LONGEST + 1) + b"\n"], [b"x" * 401, b"x" * 600 + b"\n"]):
        (line,) = read(LineReader(LONGEST), *pieces)
        assert line.cut


def test_what_has_no_end_yet_can_be_had() -> None:
    """When nothing more comes."""
    reader = LineReader(LONGEST)
    assert read(reader, b"one\ntwo") == [Line(b"one")]
    assert list(reader.rest()) == [Line(b"two", ended=False)]
    assert list(reader.rest()) == []
